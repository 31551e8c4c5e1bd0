"""Counts the page faults of a hook and fails beyond a limit: hook_faults.py BINARY PROJECT MOST"""

import json
import os
import sys

binary, project, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.chdir(project)
counts = []
for number in range(8):
    event = {
        "session_id": "faults",
        "cwd": project,
        "hook_event_name": "PreToolUse",
        "tool_name": "Read",
        "tool_use_id": f"call {number}",
        "tool_input": {"file_path": f"file{number}.rs"},
    }
    with open("event.json", "w", encoding="utf-8") as file:
        json.dump(event, file)
    actions = [(os.POSIX_SPAWN_OPEN, 0, "event.json", os.O_RDONLY, 0)]
    child = os.posix_spawn(binary, [binary, "hook", "claude"], os.environ, file_actions=actions)
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit("the hook refused a plain read")
    counts.append(usage.ru_minflt)
usual = sorted(counts)[len(counts) // 2]
print(f"{usual} page faults, at most {most}")
sys.exit(usual > most)
