import { type State, states } from '../elements/state.ts';
import { type Html, html } from '../html.ts';

/** A state as a sign alone; its word is in the tooltip, and screen readers say it. */
export function stateGlyph(state: State): Html {
  const { word, sign } = states[state];
  return html`<span class="state state-${state}" title="${word}"><span class="sign" aria-hidden="true">${sign}</span><span class="hidden">${word}</span></span>`;
}
