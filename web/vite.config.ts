// Builds the page's script and style into the Python package. The files depend on the sources alone: not on the
// machine, the path or the time. Their first line has the hash of the sources, so that a stale bundle is found where
// there is no Node (scripts/check_page.py computes it in the same way).
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = dirname(fileURLToPath(import.meta.url));

function sources(): string[] {
  const inside = readdirSync(join(here, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.includes(".test."))
    .map((entry) => relative(here, join(entry.parentPath, entry.name)).split(sep).join("/"));
  return [...inside, "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts"].sort();
}

function hashOfSources(): string {
  const all = createHash("sha256");
  for (const path of sources()) {
    const one = createHash("sha256").update(readFileSync(join(here, path))).digest("hex");
    all.update(`${one}  ${path}\n`);
  }
  return all.digest("hex");
}

/** uPlot's ways to draw that no chart here uses: stepped lines, bars and splines, dates: 6 kB of the page. */
const UNUSED = /^\s*\(paths\.(stepped|bars|spline) *= \w+\);$|^\s*uPlot\.(fmtDate|tzDate|sync|join|addGap|clipGaps|orient) *= .*;$/gm;

export default defineConfig({
  root: here,
  base: "",
  logLevel: "warn",
  define: { "process.env.NODE_ENV": '"production"' },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    outDir: join(here, "../python/hypertwin/report"),
    emptyOutDir: false,
    copyPublicDir: false,
    cssCodeSplit: false,
    lib: { entry: join(here, "src/main.tsx"), formats: ["iife"], name: "hypertwin", fileName: () => "page.js", cssFileName: "page" },
  },
  plugins: [
    {
      name: "without what is unused",
      transform(code, id) {
        if (!id.includes("uPlot.esm")) return;
        const kept = code.replace(UNUSED, "");
        if (kept.length === code.length) throw new Error("uPlot has other parts than vite.config.ts leaves out");
        return { code: kept, map: null };
      },
    },
    {
      name: "hash of the sources",
      enforce: "post",
      generateBundle: {
        order: "post",
        handler(_options, bundle) {
          for (const file of Object.values(bundle))
            if (file.type === "chunk") file.code = `/* built by \`make page\` from web/, sources ${hashOfSources()} */\n${file.code}`;
        },
      },
    },
  ],
  test: { include: ["src/**/*.test.ts"], environment: "node", css: true },
} as Parameters<typeof defineConfig>[0]);
