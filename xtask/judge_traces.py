#!/usr/bin/env python3
"""Judges every distinct shell command of recorded runs and lists what would not pass.

    judge_traces.py TRACES [TRIPWIRE]

TRACES is a file of docs/reference/traces.md, plain or packed (`.zst`, needs the `zstd` command). The commands are judged in a
throw-away repository on a pushed branch; the folders that the recorded runs worked in stand for it. Nothing is run.
"""
import json, os, re, subprocess, sys, tempfile

# Where the recorded agents worked.
FOLDERS = re.compile(r'/Users/u/[\w./-]*?(?:cli|worktrees/\d+)(?=[/\s"\']|$)|/workspace(?=[/\s"\';)]|$)')


def text_of(path):
    if path.endswith('.zst'):
        return subprocess.run(['zstd', '-dc', path], check=True, capture_output=True, text=True).stdout
    return open(path, encoding='utf-8').read()


def command_of(args):
    """The command line of a call: a field of its arguments, or a text that begins with `command:`."""
    if isinstance(args, dict):
        return args.get('command') if isinstance(args.get('command'), str) else None
    if not isinstance(args, str) or not args.startswith('command:'):
        return None
    text = args[len('command:'):].strip()
    block = re.match(r'[|>][-+]?\n', text)
    if block:
        return re.sub(r'(?m)^  ', '', text[block.end():])
    if text.startswith('"'):
        # A line that ends in a backslash goes on behind the blanks of the next one.
        joined = re.sub(r'\\\n\s*(?:\\(?= ))?', '', text)
        try:
            return json.loads(folded(joined))
        except ValueError:
            return None
    if text.startswith("'") and text.endswith("'"):
        return folded(text[1:-1].replace("''", "'"))
    return folded(text)


def folded(text):
    """A text over several lines as YAML reads it: a line break is a blank, and an empty line is a line break."""
    return re.sub(r'\n[ ]*(\n?)', lambda found: found.group(1) or ' ', text)


def commands(path):
    found = {}
    for line in text_of(path).splitlines():
        for event in json.loads(line)['events']:
            if event['tool'].lower() == 'bash' and (command := command_of(event.get('args'))):
                found[command] = None
    return list(found)


def repository(root):
    work = os.path.join(root, 'work')
    os.makedirs(os.path.join(work, 'src'))
    os.makedirs(os.path.join(root, 'home'))
    open(os.path.join(work, 'src', 'a.rs'), 'w').close()
    git = ['git', '-c', 'user.name=a', '-c', 'user.email=a@example.com']
    for arguments in (['init', '-q', '-b', 'main'], ['add', '-A'], ['commit', '-qm', 'one'], ['init', '-q', '--bare', '../origin.git'],
                      ['remote', 'add', 'origin', '../origin.git'], ['push', '-q', '-u', 'origin', 'main'],
                      ['checkout', '-q', '-b', 'topic'], ['push', '-q', '-u', 'origin', 'topic']):
        subprocess.run(git + arguments, cwd=work, check=True, capture_output=True)
    return work


def main():
    lines = commands(sys.argv[1])
    tripwire = os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else 'target/debug/tripwire')
    # Below a home, because what lies in a temporary folder may be lost.
    with tempfile.TemporaryDirectory(prefix='judged.', dir=os.path.expanduser('~')) as root:
        work = repository(root)
        asked = ''.join(json.dumps({'command': FOLDERS.sub(work, line)}) + '\n' for line in lines)
        said = subprocess.run([tripwire, 'judge', '-'], cwd=work, input=asked, capture_output=True, text=True,
                              env={'HOME': os.path.join(root, 'home'), 'PATH': os.environ['PATH'], 'USER': 'me'})
    answers = [json.loads(answer) for answer in said.stdout.splitlines()]
    if len(answers) != len(lines):
        sys.exit(f'{len(answers)} answers to {len(lines)} commands: {said.stderr}')
    held = [(line, answer) for line, answer in zip(lines, answers) if answer.get('verdict') != 'pass']
    for line, answer in held:
        first = ' ⏎ '.join(line.splitlines())[:200]
        print(f"{answer.get('verdict')} [{answer.get('rule')}, {answer.get('by')}] {first}\n    {answer.get('reason') or answer.get('error')}")
    print(f'{len(held)} of {len(lines)} distinct commands do not pass')


main()
