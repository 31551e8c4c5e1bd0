//! The layers, one file each, numbered in the order in which they are put on.

pub(crate) mod l01_cgroup;
pub(crate) mod l02_namespaces;
pub(crate) mod l03_reexec;
pub(crate) mod l04_rootfs;
pub(crate) mod l05_limits;
pub(crate) mod l06_privileges;
pub(crate) mod l07_landlock;
pub(crate) mod l08_seccomp;
pub(crate) mod l08_tables;
pub(crate) mod l09_pid1;
pub(crate) mod l10_config;
pub(crate) mod l10_known;
pub(crate) mod l10_repository;
pub(crate) mod l10_scan;
