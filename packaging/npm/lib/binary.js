// Finds the binary of this platform, which npm installed as an optional dependency.
"use strict";

const name = `tripwire-guard-${process.platform}-${process.arch}`;

/** The path of the binary; throws with what to do if it is not installed. */
function binary() {
  if (process.env.TRIPWIRE_BINARY) {
    return process.env.TRIPWIRE_BINARY;
  }
  try {
    return require.resolve(`${name}/bin/tripwire`);
  } catch {
    throw new Error(
      `the package ${name} with the binary for ${process.platform} on ${process.arch} is not installed\n` +
        `hint: install it with \`npm install ${name}\`, without \`--omit=optional\`; if there is none for your platform, ` +
        "build from source with `cargo install`",
    );
  }
}

module.exports = { binary };
