import { render } from 'preact';
import './styles/tokens.css';

render(<p>Berth</p>, document.getElementById('page') as HTMLElement);
