/** The colors and fonts of pages without a script, light or dark as the system is. */
export const PAGE_THEME = `:root {
  color-scheme: light dark;
  --canvas: #f6f6f3; --surface: #fff; --sunken: #f1f1ed; --line: #e4e4df; --input: #85898f; --text: #191b1e;
  --text-2: #4d5258; --accent: #1b5cab; --button: #1b5cab; --critical: #b3231a; --critical-soft: #fdf0ee;
  --ok: #19703d; --ok-soft: #eaf5ee;
  --sans: "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  --mono: ui-monospace, "Cascadia Mono", "Liberation Mono", Menlo, monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --canvas: #0e1012; --surface: #14171a; --sunken: #1b1f23; --line: #272c31; --input: #6d757e;
    --text: #e9ebed; --text-2: #adb4bb; --accent: #72b2f4; --button: #2f6fba; --critical: #ff8b80;
    --critical-soft: #261817; --ok: #63cc8f; --ok-soft: #12261a;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--canvas); color: var(--text); font: 14px/20px var(--sans); }
a { color: var(--accent); text-underline-offset: 2px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
`;
