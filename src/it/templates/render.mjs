// Renders templates with npm's @huggingface/jinja: node render.mjs FOLDER, which has node_modules, chats.json and gets templates.json and npm.json
import { readFileSync, writeFileSync } from "fs";
import { join, resolve } from "path";
import { pathToFileURL } from "url";

const folder = resolve(process.argv[2]);
const load = (path) => import(pathToFileURL(join(folder, "node_modules", path)));
const { Template } = await load("@huggingface/jinja/dist/index.js");

// the 97 published templates, by the name of their model and their number
const source = readFileSync(join(folder, "node_modules/@huggingface/ollama-utils/src/chat-template-automap.ts"), "utf8");
const list = source.slice(source.indexOf("= [") + 2, source.lastIndexOf("]") + 1);
const templates = {};
new Function(`return ${list}`)().forEach((entry, i) => (templates[`${i} ${entry.model}`] = entry.gguf));
writeFileSync(join(folder, "templates.json"), JSON.stringify(templates));

const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...given) {
    given.length > 0 ? super(...given) : super(2026, 2, 5, 14, 7, 9);
  }
};

const chats = JSON.parse(readFileSync(join(folder, "chats.json")));
const results = {};
for (const [name, jinja] of Object.entries(templates)) {
  results[name] = {};
  for (const [chat, variables] of Object.entries(chats)) {
    try {
      results[name][chat] = { text: new Template(jinja).render(structuredClone(variables)) };
    } catch (error) {
      results[name][chat] = { error: error.message };
    }
  }
}
writeFileSync(join(folder, "npm.json"), JSON.stringify(results));
