//! The policy file: written when it is missing, checked, frozen, and refused when it is broken.

use crate::session::fixture::Place;
use std::fs;

fn edited(place: &Place, change: impl FnOnce(String) -> String) {
    let file = place.geometry("policy.cedar");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(file, change(text)).unwrap();
}

fn request(role: &str) -> String {
    format!(
        "{{\"at\":0,\"what\":{{\"request\":{{\"action\":{{\"tool\":\"Bash\"}},\"authority\":{{\"grant\":\"granted\",\
         \"permission\":\"can_execute_tasks\",\"role\":\"{role}\"}}}}}}}}\n"
    )
}

#[test]
fn perm_1_a_session_writes_the_default_policies_and_freezes_their_digest() {
    let place = Place::new();
    place.step(&request("developer")).ended(0);
    let policies = fs::read_to_string(place.geometry("policy.cedar")).unwrap();
    assert!(policies.contains("principal.can_execute_tasks"));
    let head = fs::read_to_string(place.journal("00000001.jsonl")).unwrap();
    let head: serde_json::Value = serde_json::from_str(head.lines().next().unwrap()).unwrap();
    let session = &head["b"]["session"];
    assert_eq!(session["permissions"]["policy"].as_str().unwrap().len(), 64);
    assert!(session["identity"]["agentChecksum"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(session["identity"]["workflowBinding"], place.session().as_str());
    place.run(&["policy", "check"]).ended(0).says("examples hold");
}

#[test]
fn perm_1_a_claim_to_be_granted_is_looked_up_and_an_unknown_role_gets_nothing() {
    let place = Place::new();
    place.step(&request("developer")).ended(0);
    for role in ["observer", "ghost"] {
        let said = place.step(&request(role)).ended(11);
        let error = &said.json_lines().pop().unwrap()["safety"]["error"]["PermissionDenied"];
        assert_eq!(error["role"], role, "{}", said.out);
        assert_eq!(error["permission"], "can_execute_tasks");
    }
}

#[test]
fn const_6_an_edit_of_the_policies_is_drift_and_is_not_applied() {
    let place = Place::new();
    place.step(&request("developer")).ended(0);
    edited(&place, |text| format!("{text}\nforbid (principal, action, resource);\n").replace("@must_allow", "@was"));
    let said = place.step(&request("developer")).ended(0);
    let told = said.out.contains("POLICY_DRIFT") && said.out.contains("policy.cedar");
    assert!(told, "the edit is told: {}", said.out);
    assert!(!place.step(&request("developer")).ended(0).out.contains("POLICY_DRIFT"), "once");
    place.feed(&["step", "-", "--new"], &request("developer")).ended(11);
}

#[test]
fn perm_1_a_broken_policy_file_starts_nothing_and_names_line_and_column() {
    let place = Place::new();
    place.step(&request("developer")).ended(0);
    edited(&place, |text| format!("permit (principal action);\n{text}"));
    place.feed(&["step", "-", "--new"], &request("developer")).ended(2).complains("line 1 column");
    place.run(&["policy", "check"]).ended(2).complains("line 1 column");
    assert_eq!(fs::read_dir(place.geometry("journal")).unwrap().count(), 1, "no second session was begun");
}

#[test]
fn perm_1_policy_check_reports_every_example_that_does_not_hold_with_its_line() {
    let place = Place::new();
    let file = place.work().join("mine.cedar");
    fs::write(&file, "@must_deny(\"developer write a; tester write b\")\npermit (principal, action, resource);\n")
        .unwrap();
    let said = place.run(&["policy", "check", "mine.cedar"]).ended(2).complains("2 examples do not hold");
    assert_eq!(said.out.matches("line 1: the example").count(), 2, "{}", said.out);
    let json = place.run(&["policy", "check", "mine.cedar", "--json"]).ended(2).json();
    assert_eq!((json["ok"].as_bool(), json["failed"][1]["line"].as_u64()), (Some(false), Some(1)));
    fs::write(&file, "permit (principal, action, resource) when { resource like \"x\" };").unwrap();
    place.run(&["policy", "check", "mine.cedar"]).ended(2).complains("mine.cedar");
    place.run(&["policy", "check", "missing.cedar"]).ended(2).complains("missing.cedar");
}

#[test]
fn perm_1_roles_come_from_the_manifest_and_a_wrong_one_is_refused() {
    let place = Place::new();
    place.manifest("roles:\n  writer: [can_execute_tasks, can_edit_source]\n");
    place.step(&request("writer")).ended(0);
    place.run(&["policy", "check"]).ended(0).says("5 roles");
    let other = Place::new();
    other.manifest("roles:\n  writer: [can_fly]\n");
    other.step(&request("writer")).ended(2).complains("there is no attribute `can_fly`");
    let unknown = Place::new();
    unknown.feed(&["step", "-", "--role", "ghost"], &request("ghost")).ended(2).complains("there is no role `ghost`");
}
