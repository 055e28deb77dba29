import { AppError } from '@picket/lib/errors.ts';
import type { SharedLimits } from '@picket/platform/http/shared-limits/shared-limits.ts';
import { publicPageRoutes } from '@picket/protocol/pages/public-page.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { notAllowed } from '../../error-page.ts';
import { type Content, html, path, withQuery } from '../../html.ts';
import { isFromOwnPage } from '../../requests/addresses.ts';
import type { CustomDomainHosts } from '../custom-domain/hosts.ts';
import { publicHeaders, publicNotice } from '../document.ts';
import { givenKey } from '../keys.ts';
import { callPublic, knownAddress, type PublicPagesDeps } from '../public-call.ts';
import { subscribeForm } from './form.ts';

const { confirmSubscription, subscribe, unsubscribe } = publicPageRoutes;

/** Format of a token in a mail. */
const token = /^[\w-]{1,128}$/;
type Token = { Params: { token: string } };

/** Confirmation pages of the two links in a mail: programs that scan mails follow links. */
const asked = {
  confirm: {
    route: confirmSubscription,
    title: 'Confirm your subscription',
    text: 'You will get mails about incidents and maintenance on this page.',
    button: 'Subscribe',
    done: { title: 'You are subscribed', text: 'Every mail has a link to unsubscribe.' },
  },
  unsubscribe: {
    route: unsubscribe,
    title: 'Unsubscribe',
    text: 'You will get no more mails about this page.',
    button: 'Unsubscribe',
    done: { title: 'You are unsubscribed', text: 'You will get no more mails.' },
  },
} as const;

/**
 * Subscriptions to status pages: a form, and the two links of mails, which use no cookie. Limits apply even if the API
 * has none, since each request may send a mail.
 */
export function addSubscribing(
  app: FastifyInstance,
  deps: PublicPagesDeps & { readonly hosts: CustomDomainHosts; readonly sharedLimits: SharedLimits },
): void {
  const { assets, handlers, hosts, sharedLimits: limits } = deps;
  const send = (
    reply: FastifyReply,
    notice: { readonly title: string; readonly text: Content; readonly more?: Content },
    statusCode = 200,
  ) =>
    reply
      .code(statusCode)
      .headers({ ...publicHeaders([]), 'cache-control': 'no-store' })
      .type('text/html; charset=utf-8')
      .send(publicNotice(assets, notice));

  app.post<{ Params: { address: string } }>('/status/:address/subscribe', async (request, reply) => {
    if (!isFromOwnPage(request))
      throw notAllowed('Subscriptions are accepted only from the status page itself.');
    const address = knownAddress(request.params.address, 'status page');
    const { key, isKeyInAddress } = givenKey(request, { noun: 'status page', address });
    const linked = isKeyInAddress ? { key } : {};
    const own = (await hosts.find(request.hostname)) ? '/' : path`/status/${address}`;
    const form = formOf(request);
    const mailAddress = (form.get('address') ?? '').trim();
    const body = subscribe.body.safeParse({ type: 'EMAIL', config: { address: mailAddress } });
    if (!body.success) {
      const error = 'This is not a mail address.';
      const more = subscribeForm(withQuery(path`/status/${address}/subscribe`, linked), {
        address: mailAddress.slice(0, 254),
        error,
      });
      return send(reply, { title: 'Not subscribed', text: '', more }, 422);
    }
    await limits.spend(subscribe, request, reply);
    await callPublic(handlers, subscribe.operationId, {
      ...{ request, reply, params: { address }, query: { key } },
      body: body.data,
    });
    return send(reply, {
      title: 'Check your inbox',
      text: 'A mail with a link was sent, unless the address is already subscribed. The subscription starts when you confirm it.',
      more: html`<p class="actions"><a class="button" href="${withQuery(own, linked)}">Back to the page</a></p>`,
    });
  });

  for (const [verb, { route, title, text, button, done }] of Object.entries(asked)) {
    const url = `/subscriptions/:token/${verb}`;
    app.get<Token>(url, async (request, reply) => {
      const here = path`/subscriptions/${knownToken(request)}/${verb}`;
      const more = html`<form method="post" action="${here}"><button class="button primary" type="submit">${button}</button></form>`;
      return send(reply, { title, text, more });
    });
    app.post<Token>(url, async (request, reply) => {
      await limits.spend(route, request, reply);
      const params = { token: knownToken(request) };
      await callPublic(handlers, route.operationId, { request, reply, params, query: {} });
      return send(reply, done);
    });
  }
}

function knownToken({ params }: FastifyRequest<Token>): string {
  if (!token.test(params.token)) throw new AppError('NOT_FOUND', 'The subscription does not exist.');
  return params.token;
}

function formOf({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}
