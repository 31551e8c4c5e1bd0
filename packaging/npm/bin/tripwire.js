#!/usr/bin/env node
// Becomes the binary of this platform as far as Node can.
"use strict";

const { spawnSync } = require("node:child_process");
const os = require("node:os");
const { binary } = require("../lib/binary.js");

function run() {
  let program;
  try {
    program = binary();
  } catch (error) {
    process.stderr.write(`error: ${error.message}\n`);
    return 1;
  }
  const ended = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
  if (ended.error) {
    process.stderr.write(`error: the binary does not start: ${ended.error.message}\n`);
    return 1;
  }
  // A program that a signal ended has the shell's code for it.
  return ended.signal ? 128 + (os.constants.signals[ended.signal] ?? 0) : ended.status;
}

process.exit(run());
