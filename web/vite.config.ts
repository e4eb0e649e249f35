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
    const one = createHash("sha256")
      .update(readFileSync(join(here, path)))
      .digest("hex");
    all.update(`${one}  ${path}\n`);
  }
  return all.digest("hex");
}

/**
 * What of uPlot no chart here uses, 16 kB of the page: stepped lines, bars and splines, dates, its own legend, scales that
 * are not linear (`lib/scale.ts` places values), plots of points, series that come and go or are focused.
 */
const UNUSED: [RegExp, string][] = [
  [/^\s*\(paths\.(stepped|bars|spline) *= \w+\);$/gm, ""],
  [
    /^\s*uPlot\.(fmtDate|tzDate|sync|join|addGap|clipGaps|orient|assign|fmtNum|rangeNum|rangeLog|rangeAsinh) *= .*;$/gm,
    "",
  ],
  [/^(const \[ timeIncrs|\s*const _time(Axis|Series)\w+ *=|const (localTz|wholeIncrs) *=|genIncrs\(2).*;$/gm, ""],
  [/\.map\(slice3\)/g, ""],
  [
    /^\s*self\.(addSeries|delSeries|addBand|setBand|delBand|batch|valToIdx|posToIdx|setSize|setData|setLegend) = .*;$/gm,
    "",
  ],
  [/\bcursorFocus = focus\.prox >= 0;/g, "cursorFocus = false;"],
  [/\bisTime = [^;]+;/g, "isTime = false;"],
  [/\bshowLegend = legend\.show;/g, "showLegend = false;"],
  [/\bmode == 1\b/g, "true"],
  [/\bmode == 2\b/g, "false"],
  [/\b(\w+\.)?distr *(== *([2-4]|100)|>= *3)(?!\d)/g, "false"],
  [/\b\w+\.distr *(== *1|!= *2)(?!\d)/g, "true"],
];

/** Copyright and permission of each package in a bundle, as MIT and ISC ask of every copy; equal permissions once. */
function notices(modules: readonly string[]): string {
  const packages = modules.flatMap((id) => id.match(/^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/) ?? []);
  const copyrights: string[] = [];
  const permissions = new Set<string>();
  for (const folder of [...new Set(packages)].sort()) {
    const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
    if (!file) throw new Error(`${folder} has no licence: its bundle cannot be given away`);
    const text = readFileSync(join(folder, file), "utf8").replace(/\s+/g, " ");
    const [, copyright, permission] = text.match(/(Copyright.+?) (Permission.+?) ?$/) ?? [];
    if (!copyright || !permission) throw new Error(`${file} of ${folder} is not read: see vite.config.ts`);
    copyrights.push(`${folder.replace(/^.*\/node_modules\//, "")}: ${copyright}`);
    permissions.add(permission);
  }
  return ["/* contains", ...copyrights, ...permissions, "*/"].join("\n");
}

/** What differs in the bundle of `hypertwin serve`: `vite build --mode serve --outDir ../python/hypertwin/serve`. */
const APP = {
  build: {
    lib: { entry: join(here, "src/serve/main.tsx"), fileName: () => "app.js", cssFileName: "app" },
  },
};

export default defineConfig({
  root: here,
  base: "",
  logLevel: "warn",
  define: { "process.env.NODE_ENV": '"production"' },
  oxc: {
    jsx: { runtime: "classic", pragma: "h", pragmaFrag: "Fragment" },
    jsxInject: `import { h, Fragment } from "preact"`,
  },
  build: {
    target: "es2022",
    outDir: join(here, "../python/hypertwin/show"),
    emptyOutDir: false,
    copyPublicDir: false,
    cssCodeSplit: false,
    lib: {
      entry: join(here, "src/main.tsx"),
      formats: ["iife"],
      name: "hypertwin",
      fileName: () => "page.js",
      cssFileName: "page",
    },
  },
  plugins: [
    {
      name: "app of the server",
      config: (_config, { mode }) => (mode === "serve" ? APP : {}),
    },
    {
      name: "without what is unused",
      transform(code, id) {
        if (!id.includes("uPlot.esm")) return;
        const kept = UNUSED.reduce((text, [unused, instead]) => {
          if (!text.match(unused)) throw new Error(`uPlot no longer has what vite.config.ts leaves out: ${unused}`);
          return text.replace(unused, instead);
        }, code);
        return { code: kept, map: null };
      },
    },
    {
      name: "hash of the sources, and licences",
      enforce: "post",
      generateBundle: {
        order: "post",
        handler(_options, bundle) {
          for (const file of Object.values(bundle))
            if (file.type === "chunk")
              file.code = [
                `/* built by \`make page\` from web/, sources ${hashOfSources()} */`,
                notices(file.moduleIds),
                file.code,
              ].join("\n");
        },
      },
    },
  ],
  test: { include: ["src/**/*.test.ts"], environment: "node", css: true },
} as Parameters<typeof defineConfig>[0]);
