import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
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

export default defineConfig({
  plugins: [engine(), viteSingleFile()],
  build: { target: "es2022", reportCompressedSize: false, modulePreload: false },
});
