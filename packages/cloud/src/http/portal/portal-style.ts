/** The style of the portal, for phones and desktops, light and dark. */
export const PORTAL_STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f4f5f7; --card: #fff; --text: #1b1f24; --soft: #57606a; --line: #c9d1d9; --act: #0a58ca;
  --act-text: #fff; --bad: #a40e26; --bad-ground: #fdecee; --good: #116329; --good-ground: #e6f5ea;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0f1318; --card: #181d24; --text: #e6edf3; --soft: #9ea7b1; --line: #3b434d; --act: #5b9bff;
    --act-text: #06101f; --bad: #ff9aa5; --bad-ground: #3a171c; --good: #7ee2a0; --good-ground: #12301d;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; padding: 1.5rem 1rem 3rem; background: var(--ground); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif;
}
header, main { max-width: 62rem; margin: 0 auto; }
header p { margin: 0 0 1.25rem; color: var(--soft); }
h1 { margin: 0; font-size: 1.6rem; }
h2 { margin: 0 0 .5rem; font-size: 1.2rem; }
main { display: grid; gap: 1.25rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); }
section, .note {
  background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1.25rem;
}
.note { grid-column: 1 / -1; font-size: 1.05rem; border-width: 0 0 0 .35rem; }
.note p { margin: 0; }
.bad { background: var(--bad-ground); border-color: var(--bad); color: var(--bad); }
.good { background: var(--good-ground); border-color: var(--good); color: var(--good); }
section.wide { grid-column: 1 / -1; }
label { display: block; margin: 1rem 0 .3rem; font-weight: 600; }
small { display: block; margin-top: .25rem; color: var(--soft); }
input, textarea {
  width: 100%; padding: .6rem .7rem; border: 1px solid var(--line); border-radius: .4rem; font: inherit;
  background: var(--ground); color: inherit;
}
textarea { resize: none; }
textarea, input[type=text], code { font-family: ui-monospace, monospace; }
textarea, input[type=text] { font-size: .95rem; }
code { font-size: .92em; }
textarea { overflow-wrap: anywhere; word-break: break-all; }
textarea.groups { font-size: clamp(.7rem, 3.9vw, 1.1rem); white-space: pre; overflow-x: auto; }
figure { margin: 1.25rem 0 0; display: flex; flex-wrap: wrap; gap: 1rem; align-items: center; }
figcaption { flex: 1 1 15rem; color: var(--soft); }
.qr { flex: none; width: min(100%, 18rem); height: auto; border-radius: .4rem; }
button {
  width: 100%; margin-top: 1.25rem; padding: .75rem 1rem; border: 0; border-radius: .4rem;
  background: var(--act); color: var(--act-text); font: inherit; font-weight: 600; cursor: pointer;
}
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .4rem .6rem .4rem 0; border-bottom: 1px solid var(--line); text-align: left; }
td.amount, th.amount { text-align: right; padding-right: 0; }
a { color: var(--act); }
.back { grid-column: 1 / -1; margin: 0; }
h1 a { color: inherit; text-decoration: none; }
`;
