import { PAGE_THEME } from '@berth/protocol/page-theme';

/** The style of the page about the API. */
export const DOCS_STYLE = `${PAGE_THEME}html{scroll-padding-top:16px}
.skip{position:absolute;left:-999px}
.skip:focus{left:16px;top:16px;background:var(--surface);padding:8px 12px;z-index:1}
nav{position:fixed;top:0;bottom:0;left:0;width:288px;overflow-y:auto;padding:24px 16px;
background:var(--surface);border-right:1px solid var(--line)}
nav h2{font-size:12px;line-height:16px;color:var(--text-2);margin:20px 8px 4px}
nav ul{list-style:none;margin:0;padding:0}
nav li a{display:block;padding:4px 8px;border-radius:6px;color:var(--text);text-decoration:none;
font-size:13px;overflow-wrap:anywhere}
nav li a:hover{background:var(--sunken)}
main{margin-left:288px;padding:32px 40px 64px}
main>*{max-width:864px}
h1{font-size:24px;line-height:32px;margin:0 0 8px}
main>h2{font-size:20px;line-height:28px;margin:48px 0 4px}
main>h2+p{color:var(--text-2);margin:0 0 16px}
section{background:var(--surface);border:1px solid var(--line);border-radius:8px;padding:16px 24px;
margin:16px 0}
h3{font:600 16px/24px var(--mono);margin:0;
overflow-wrap:anywhere}
h3 span{color:var(--accent)}
h4{font-size:14px;line-height:20px;margin:20px 0 4px}
p{margin:4px 0 8px}
small{color:var(--text-2);font-size:12px;font-weight:400}
.who{color:var(--text-2)}
code,pre{font:12px/18px var(--mono)}
code{background:var(--sunken);border-radius:4px;padding:1px 4px;overflow-wrap:anywhere}
pre{background:var(--sunken);border-radius:6px;padding:12px;margin:4px 0;overflow-x:auto}
pre code{background:none;padding:0;overflow-wrap:normal}
table{border-collapse:collapse;width:100%;font-size:13px;margin:4px 0}
th,td{border-bottom:1px solid var(--line);padding:6px 12px 6px 0;text-align:left;vertical-align:top}
th{font-weight:400}
th code{white-space:nowrap}
thead th{color:var(--text-2);font-size:12px}
tbody tr:last-child>*{border-bottom:0}
td:nth-child(2){color:var(--text-2);min-width:96px}
summary{cursor:pointer;color:var(--accent);padding:4px 0;width:fit-content}
.wide{overflow-x:auto}
@media(max-width:899px){nav{position:static;width:auto;border-right:0;border-bottom:1px solid var(--line)}
main{margin-left:0;padding:24px 16px 48px}section{padding:16px}}
`;
