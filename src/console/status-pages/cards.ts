/** A card of the form: its name, and the ids of its services in order; "" is an unassigned place. */
export interface CardFields {
  readonly id: string | undefined;
  readonly name: string;
  readonly services: readonly string[];
}

/** The limit of a form; further entries are ignored. */
const mostPlaces = 101;

/** Returns the cards of a form. */
export function cardsOf(form: URLSearchParams): CardFields[] {
  const cards: CardFields[] = [];
  for (let card = 0; card < mostPlaces && form.has(`cards.${card}.name`); card += 1) {
    const services: string[] = [];
    for (let place = 0; place < mostPlaces; place += 1) {
      const id = form.get(`cards.${card}.services.${place}.id`);
      if (id === null) break;
      services.push(id);
    }
    cards.push({
      id: form.get(`cards.${card}.id`) || undefined,
      name: form.get(`cards.${card}.name`) ?? '',
      services: services.filter((id) => id !== ''),
    });
  }
  return cards;
}

/** Returns the same form with other cards. */
export function withCards(form: URLSearchParams, cards: readonly CardFields[]): URLSearchParams {
  const others = [...form].filter(([name]) => !name.startsWith('cards.'));
  const fields = cards.flatMap(({ id, name, services }, card): [string, string][] => [
    ...(id === undefined ? [] : [[`cards.${card}.id`, id] as [string, string]]),
    [`cards.${card}.name`, name],
    ...services.map((service, place): [string, string] => [`cards.${card}.services.${place}.id`, service]),
  ]);
  return new URLSearchParams([...others, ...fields]);
}

/**
 * Applies a button of the form to its cards: `add`, `2.up`, `2.down`, `2.remove`, and for the service in a place of a
 * card `2.0.up`, `2.0.down`, `2.0.remove`. Ignores any other value.
 */
export function arranged(cards: readonly CardFields[], act: string): CardFields[] {
  if (act === 'add') return [...cards, { id: undefined, name: '', services: [] }];
  const [, at = '', place, verb] = /^(\d{1,3})\.(?:(\d{1,3})\.)?(up|down|remove)$/.exec(act) ?? [];
  const index = Number(at);
  const card = cards[index];
  if (verb === undefined || !card) return [...cards];
  if (place === undefined) return moved(cards, index, verb);
  return cards.with(index, { ...card, services: moved(card.services, Number(place), verb) });
}

function moved<Item>(list: readonly Item[], index: number, verb: string): Item[] {
  const item = list[index];
  if (item === undefined) return [...list];
  const rest = list.toSpliced(index, 1);
  if (verb === 'remove') return rest;
  return rest.toSpliced(Math.max(0, verb === 'up' ? index - 1 : index + 1), 0, item);
}
