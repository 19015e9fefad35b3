import { PAGE_THEME } from '@berth/protocol/page-theme';

/** The style of the portal, for phones and desktops. */
export const PORTAL_STYLE = `${PAGE_THEME}
body { padding: 32px 16px 48px; }
header, main { max-width: 992px; margin: 0 auto; }
header p { margin: 0 0 24px; color: var(--text-2); }
h1 { margin: 0; font-size: 24px; line-height: 32px; font-weight: 600; }
h1 a { color: inherit; text-decoration: none; }
h2 { margin: 0 0 8px; font-size: 16px; line-height: 24px; font-weight: 600; }
p { margin: 0 0 8px; }
main { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 336px), 1fr)); }
section, .note {
  background: var(--surface); border: 1px solid var(--line); border-radius: 8px; padding: 24px;
}
.note { grid-column: 1 / -1; padding: 16px 24px; font-weight: 600; }
.note p { margin: 0; }
.bad { background: var(--critical-soft); border-color: var(--critical); color: var(--critical); }
.good { background: var(--ok-soft); border-color: var(--ok); color: var(--ok); }
section.wide, .back { grid-column: 1 / -1; }
.back { margin: 0; }
label { display: block; margin: 16px 0 4px; font-weight: 600; }
small { display: block; margin-top: 4px; color: var(--text-2); font-size: 12px; line-height: 16px; }
input, textarea {
  width: 100%; min-height: 36px; padding: 8px 12px; border: 1px solid var(--input); border-radius: 6px;
  background: var(--surface); color: inherit; font: inherit;
}
input[readonly], textarea[readonly] { background: var(--sunken); border-color: var(--line); }
textarea { resize: none; overflow-wrap: anywhere; word-break: break-all; }
textarea, input[type=text], code { font-family: var(--mono); font-size: 13px; }
code { background: var(--sunken); border-radius: 4px; padding: 1px 4px; font-size: 12px; }
textarea.groups { font-size: clamp(11px, 3.9vw, 17px); white-space: pre; overflow-x: auto; line-height: 1.5; }
figure { margin: 24px 0 0; display: flex; flex-wrap: wrap; gap: 16px; align-items: center; }
figcaption { flex: 1 1 240px; color: var(--text-2); }
.qr { flex: none; width: min(100%, 288px); height: auto; border-radius: 6px; }
button {
  width: 100%; min-height: 44px; margin-top: 24px; padding: 8px 16px; border: 0; border-radius: 6px;
  background: var(--button); color: #fff; font: inherit; font-weight: 600; cursor: pointer;
}
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 8px 12px 8px 0; border-bottom: 1px solid var(--line); text-align: left; }
th { color: var(--text-2); font-size: 12px; font-weight: 400; }
td.amount, th.amount { text-align: right; padding-right: 0; }
`;
