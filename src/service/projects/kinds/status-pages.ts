import { isRecord } from '@picket/lib/json/record.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { type Body, idsIn, lowerCase, type Particulars, passingAddress, withHost } from './kind.ts';

export const statusPages: Particulars = {
  ids: idsIn('statusPages'),
  asWritten: (shown) => ({ ...shown, cards: cardsOf(shown).map(writtenCard) }),
  bodyOf,
  keeping,
  exclusive: { customDomain: () => null, url: passingAddress },
};

/** Services of cards may be given as ids only; addresses and colors are normalized as the store does. */
function bodyOf(payload: Body): Body {
  const cards = Array.isArray(payload.cards) ? (payload.cards as unknown[]).map(cardBody) : payload.cards;
  const { themeColors } = payload;
  const upper = (text: string) => text.toUpperCase();
  return {
    ...withHost(lowerCase(payload, ['url'])),
    ...(cards === undefined ? {} : { cards }),
    ...(themeColors
      ? { themeColors: JSON.parse(JSON.stringify(themeColors).replaceAll(/"#[0-9A-Fa-f]+"/g, upper)) }
      : {}),
  };
}

function cardBody(card: unknown): unknown {
  if (!isRecord(card) || !Array.isArray(card.services)) return card;
  const services = card.services.map((service: unknown) =>
    typeof service === 'string' ? { id: service } : service,
  );
  return { ...card, services };
}

function writtenCard({ id, name, services }: Body): Body {
  return { id, name, services: (services as Body[]).map((service) => ({ id: service.id })) };
}

/**
 * Cards with the same name keep their ids.
 *
 * @throws AppError VALIDATION_FAILED if the page would change its kind, which would lose its subscribers.
 */
function keeping(desired: Body, stored: Body): Body {
  if (desired.version !== stored.version) {
    const message = `must be ${stored.version}: a page stays one of ${stored.version === 3 ? 'components' : 'cards'}. Give the new page another logicalId`;
    throw fieldError('payload', [{ key: 'version', message }]);
  }
  const ids = Map.groupBy(cardsOf(stored), ({ name }) => name);
  const cards = cardsOf(desired).map((card) => {
    const id = ids.get(card.name)?.shift()?.id;
    return id === undefined ? card : { ...card, id };
  });
  return { ...desired, cards };
}

function cardsOf({ cards }: Body): Body[] {
  return Array.isArray(cards) ? (cards as unknown[]).filter(isRecord) : [];
}
