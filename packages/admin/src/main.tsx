import './styles/tokens.css';
import './styles/layout.css';
import './styles/parts.css';
import './styles/tables.css';
import './styles/screens.css';
import './styles/rules.css';
import './data/theme.ts';
import { options, render } from 'preact';
import { App } from './app.tsx';

// Effects run right after drawing, not after painting: otherwise a key that follows another one quickly would
// act on the row, the dialog or the menu from before.
options.requestAnimationFrame = queueMicrotask;

render(<App />, document.getElementById('page') as HTMLElement);
