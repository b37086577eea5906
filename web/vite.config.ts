import { readdirSync, readFileSync } from "node:fs";
import { parse as name, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { parse } from "smol-toml";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

const ENGINE = process.env["ENGINE"] ?? "../target/wasm32-unknown-unknown/page/fullpipe_wasm.wasm";

/** `import engine from "virtual:engine"`: the compiled engine, gzipped, as base64. */
function engine(): Plugin {
  return {
    name: "engine",
    resolveId: (id) => (id === "virtual:engine" ? "\0engine" : null),
    load(id) {
      if (id !== "\0engine") return null;
      const bytes = readFileSync(resolve(import.meta.dirname, ENGINE));
      return `export default ${JSON.stringify(gzipSync(bytes, { level: 9 }).toString("base64"))};`;
    },
  };
}

/** `import { LESSONS } from "virtual:lessons"`: the files of the Python package, in their order. */
function lessons(): Plugin {
  const folder = resolve(import.meta.dirname, "../python/fullpipe/lessons");
  return {
    name: "lessons",
    resolveId: (id) => (id === "virtual:lessons" ? "\0lessons" : null),
    load(id) {
      if (id !== "\0lessons") return null;
      const files = readdirSync(folder).filter((file) => file.endsWith(".toml"));
      const all = files.map((file) => ({ name: name(file).name, ...parse(readFileSync(resolve(folder, file), "utf8")) }));
      all.sort((a, b) => Number((a as { number?: number }).number) - Number((b as { number?: number }).number));
      return `export const LESSONS = ${JSON.stringify(all)};`;
    },
  };
}

export default defineConfig({
  define: { PLAYGROUND_URL: JSON.stringify(process.env["PLAYGROUND_URL"] ?? "") },
  plugins: [engine(), lessons(), viteSingleFile()],
  build: { target: "es2022", reportCompressedSize: false, modulePreload: false },
});
