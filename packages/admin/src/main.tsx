import './styles/tokens.css';
import './styles/layout.css';
import './styles/parts.css';
import './styles/tables.css';
import './styles/screens.css';
import './data/theme.ts';
import { render } from 'preact';
import { App } from './app.tsx';

render(<App />, document.getElementById('page') as HTMLElement);
