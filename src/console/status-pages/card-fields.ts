import { textField } from '../elements/form.ts';
import { shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import type { Problems } from '../forms/problems.ts';
import { type Html, html } from '../html.ts';
import type { CardFields } from './cards.ts';

interface Service {
  readonly id: string;
  readonly name: string;
}

/** The cards of a page in order, each with its services in order. Every button works without scripts. */
export function cardFields(
  cards: readonly CardFields[],
  services: readonly Service[],
  problems: Problems | undefined,
): Html {
  return html`<fieldset class="group" id="cards"><legend>Cards</legend>
<p class="hint">A card is a heading with services below it. ${services.length === 0 ? html`No services yet: <a href="/pages/services">create one</a> first.` : ''}</p>
${cards.map((card, index) => cardField(card, index, { services, problems, count: cards.length }))}
${problems?.fields.has('cards') ? html`<p class="error">${problems.fields.get('cards')}</p>` : ''}
${arrangeButton('add', 'Add a card', 'Add a card')}</fieldset>`;
}

interface Context {
  readonly services: readonly Service[];
  readonly problems: Problems | undefined;
  readonly count: number;
}

function cardField(card: CardFields, index: number, { services, problems, count }: Context): Html {
  const name = (part: string) => `cards.${index}.${part}`;
  const about = card.name === '' ? `card ${index + 1}` : shortened(card.name, 40);
  return html`<div class="card-fields" role="group" aria-label="Card ${index + 1}">${
    card.id === undefined ? '' : html`<input type="hidden" name="${name('id')}" value="${card.id}">`
  }${textField({ name: name('name'), label: `Card ${index + 1}`, value: card.name, isRequired: true, error: problems?.fields.get(name('name')) ?? problems?.fields.get(name('id')) })}
<div class="row-actions">${index > 0 ? arrangeButton(`${index}.up`, '↑', `Move ${about} up`) : ''}${
    index < count - 1 ? arrangeButton(`${index}.down`, '↓', `Move ${about} down`) : ''
  }${arrangeButton(`${index}.remove`, 'Remove', `Remove ${about}`)}</div>
<ol class="card-services">${[...card.services, ''].map((id, place) => {
    const chosen = services.find((service) => service.id === id);
    const what = chosen ? shortened(chosen.name, 40) : `service ${place + 1}`;
    return html`<li><select name="${name(`services.${place}.id`)}" aria-label="${about}, service ${place + 1}">
<option value="">${id === '' ? 'Add a service…' : 'None'}</option>${services.map(
      (service) =>
        html`<option value="${service.id}"${service.id === id ? html` selected` : ''}>${visible(shortened(service.name, 60))}</option>`,
    )}</select>${
      id === ''
        ? ''
        : html`<span class="row-actions">${place > 0 ? arrangeButton(`${index}.${place}.up`, '↑', `Move ${what} up`) : ''}${
            place < card.services.length - 1
              ? arrangeButton(`${index}.${place}.down`, '↓', `Move ${what} down`)
              : ''
          }${arrangeButton(`${index}.${place}.remove`, 'Remove', `Remove ${what}`)}</span>`
    }</li>`;
  })}</ol></div>`;
}

function arrangeButton(act: string, word: string, label: string): Html {
  const to = `/pages/status/arrange?act=${act}`;
  return html`<button class="button" type="submit" formaction="${to}" formnovalidate aria-label="${label}" hx-post="${to}" hx-include="closest form" hx-target="#cards" hx-select="#cards" hx-swap="outerMorph">${word}</button>`;
}
