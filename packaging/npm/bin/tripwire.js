#!/usr/bin/env node
// Finds the binary of this platform, which npm installed as an optional dependency, and becomes it as far as Node can.
"use strict";

const { spawnSync } = require("node:child_process");
const os = require("node:os");

const name = `tripwire-guard-${process.platform}-${process.arch}`;

function binary() {
  if (process.env.TRIPWIRE_BINARY) {
    return process.env.TRIPWIRE_BINARY;
  }
  try {
    return require.resolve(`${name}/bin/tripwire`);
  } catch {
    process.stderr.write(
      `error: the package ${name} with the binary for ${process.platform} on ${process.arch} is not installed\n` +
        `hint: install it with \`npm install ${name}\`, without \`--omit=optional\`; if there is none for your platform, ` +
        "build from source with `cargo install`\n",
    );
    process.exit(1);
  }
}

const ended = spawnSync(binary(), process.argv.slice(2), { stdio: "inherit" });
if (ended.error) {
  process.stderr.write(`error: the binary does not start: ${ended.error.message}\n`);
  process.exit(1);
}
// A program that a signal ended has the shell's code for it.
process.exit(ended.signal ? 128 + (os.constants.signals[ended.signal] ?? 0) : ended.status);
