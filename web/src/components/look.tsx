/** The colours of a page: as the system has them, light or dark, and light on paper. */

import { options } from "preact";
import { useMemo, useState } from "preact/hooks";
import { readTheme, type Choice } from "../theme";
import { usePaper } from "./blocks";

/** The theme, and whether paper is drawn: that is light, whole and at once, because the printer does not wait. */
export function useLook() {
  const [choice, setChoice] = useState<Choice>("auto");
  const [printing, setPrinting] = useState(false);
  const [system, setSystem] = useState(() => window.matchMedia("(prefers-color-scheme: dark)").matches);
  const root = document.documentElement;
  const dark = !printing && (choice === "auto" ? system : choice === "dark");
  root.dataset["theme"] = dark ? "dark" : "light";
  useMemo(() => {
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => setSystem(event.matches));
  }, []);
  const atOnce = (now: boolean) => () => {
    const before = options.debounceRendering;
    options.debounceRendering = (render) => render();
    setPrinting(now);
    options.debounceRendering = before;
  };
  usePaper(atOnce(true), atOnce(false));
  const theme = useMemo(readTheme, [dark]);
  return useMemo(() => ({ theme, printing, choice, choose: setChoice }), [theme, printing, choice]);
}

export function ThemeSwitch({ theme, choose }: { theme: Choice; choose: (theme: Choice) => void }) {
  return (
    <label class="theme">
      <span>Colours</span>
      <select value={theme} onChange={(event) => choose(event.currentTarget.value as Choice)}>
        <option value="auto">as the system</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </label>
  );
}
