//! A fleet in a folder does everything that a fleet must do.

use crate::conformance;
use tripwire_fleet::file_log::FileLog;
use tripwire_testing::TestDir;

#[test]
fn fleet_1_a_folder_meets_every_demand() {
    let folder = TestDir::new();
    let log = FileLog::open(folder.path()).unwrap();
    conformance::all(&log, "f");
}

#[test]
fn fleet_1_many_writers_of_a_folder_lose_nothing() {
    let folder = TestDir::new();
    let log = FileLog::open(folder.path()).unwrap();
    conformance::many_writers(&log, "m", 4, 50);
}
