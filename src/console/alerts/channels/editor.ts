import type { Channel } from '@picket/channels/contract/channel.ts';
import { type ChannelType, channelKinds, findChannelKind } from '@picket/channels/index.ts';
import {
  type AlertChannel,
  alertChannelRoutes,
  ChannelFlags,
} from '@picket/protocol/alerts/alert-channel.ts';
import { QuietHours } from '@picket/protocol/alerts/quiet-hours.ts';
import { z } from 'zod';
import { csrfField } from '../../elements/form.ts';
import { shortened } from '../../elements/format.ts';
import { icon } from '../../elements/icon.ts';
import { actionButton, confirmed, notice, problemNotice } from '../../forms/action.ts';
import { Form } from '../../forms/form.ts';
import { attempt, type Problems } from '../../forms/problems.ts';
import type { Words } from '../../forms/view.ts';
import { type Html, html, path, withQuery } from '../../html.ts';
import { heading } from '../../layout.ts';
import type { PageAnswer, PageCall, View } from '../../page.ts';
import { channelName, warningWords } from '../channel-words.ts';
import { subscriptionsSection } from './subscriptions.ts';

const { createAlertChannel, getAlertChannel, updateAlertChannel } = alertChannelRoutes;

const flagWords: Words = {
  sendFailure: { label: 'When a check fails' },
  sendRecovery: { label: 'When it recovers' },
  sendDegraded: { label: 'When it is degraded' },
  sendGap: { label: 'When it is not measured', hint: '' },
  sslExpiry: { label: 'When a certificate is about to expire', hint: '' },
  groupByCause: {
    label: 'One notification for each cause',
    hint: 'Checks that fail for the same cause share a notification. If off, each check has its own.',
  },
  sslExpiryThreshold: { label: 'Days before a certificate expires', hint: '' },
  autoSubscribe: { label: 'Subscribe new checks automatically', hint: '' },
  quietHours: { isHidden: true },
};

/** Without times there are no quiet hours. */
const { from, until, ...quietShape } = QuietHours.shape;
const QuietFields = z.object({ from: from.optional(), until: until.optional(), ...quietShape });
const quietWords: Words = {
  'quietHours.timezone': { label: 'Time zone' },
  'quietHours.exceptFailures': {
    label: 'Send failures and recoveries during quiet hours',
    hint: 'Of checks and locations.',
  },
};

const flagForm = new Form(ChannelFlags, flagWords);
const quietForm = new Form(QuietFields, quietWords, 'quietHours.');

/** Form of a type's config, whose secrets are never shown again. */
function configForm(kind: Channel): Form {
  const secrets = kind.masked.filter(({ flags }) => flags === undefined);
  const words = {
    ...Object.fromEntries(secrets.map(({ path: parts }) => [parts.join('.'), { isSecret: true }])),
    'config.template': { lines: 8 },
    'config.webhookType': { isHidden: true },
  };
  return new Form(kind.config, words, 'config.');
}

interface FormState {
  readonly values: URLSearchParams;
  readonly problems?: Problems | undefined;
  readonly isStored: boolean;
}

function fields(kind: Channel, state: FormState): Html {
  return html`<fieldset class="group"><legend>${kind.title}</legend>${configForm(kind).view(state)}</fieldset>
<fieldset class="group flags"><legend>Notifications</legend>${flagForm.view(state)}</fieldset>
<fieldset class="group"><legend>Quiet hours</legend><p class="hint">Notifications that still apply when the quiet hours end are sent then. Leave the times empty for no quiet hours.</p>${quietForm.view(state)}</fieldset>`;
}

function bodyOf(kind: Channel<ChannelType>, form: URLSearchParams, stored?: AlertChannel) {
  return {
    type: kind.type,
    config: configForm(kind).object(form, stored?.config),
    ...flagForm.object(form),
    quietHours: quietHoursOf(form),
  };
}

/** Returns the input values of a stored or new channel. */
function valuesOf(kind: Channel | undefined, channel?: AlertChannel): URLSearchParams {
  const config = kind && configForm(kind);
  return new URLSearchParams(
    channel
      ? [
          ...(config?.values(channel.config) ?? []),
          ...flagForm.values(channel),
          ...quietForm.values(channel.quietHours),
        ]
      : [...(config?.defaults() ?? []), ...flagForm.defaults(), ...quietForm.defaults()],
  );
}

/** Returns null if neither time is given. */
function quietHoursOf(form: URLSearchParams): Record<string, unknown> | null {
  const { from = '', until = '', ...rest } = quietForm.object(form);
  return from === '' && until === '' ? null : { from, until, ...rest };
}

/** Shows the choice of a type, then the form of the chosen type. */
export function newChannel(
  { query, form, viewer }: PageCall,
  refused?: { readonly values: URLSearchParams; readonly problems: Problems },
): View {
  const kind = findChannelKind(form.get('type') ?? query.get('type') ?? '');
  const crumbs = html`<nav class="crumbs"><a href="/alerts/channels">Channels</a></nav>`;
  if (!kind) {
    const main = html`${crumbs}${heading('New channel')}<p class="lead soft">Choose a channel type</p>
<ul class="choices">${channelKinds.map(({ type, title, icon: name }) => html`<li><a class="button" href="${withQuery('/alerts/channels/new', { type })}">${icon(name)}${title}</a></li>`)}</ul>`;
    return { main };
  }
  const { values = valuesOf(kind), problems } = refused ?? {};
  const main = html`${crumbs}${heading(`New channel: ${kind.title}`)}${problemNotice(problems)}
<form class="form channel-form" method="post" action="/alerts/channels/new">${csrfField(viewer)}<input type="hidden" name="type" value="${kind.type}">
${fields(kind, { values, problems, isStored: false })}
<div class="actions"><button class="button primary" type="submit">Create the channel</button><a class="button" href="/alerts/channels/new">Another type</a></div></form>`;
  return { main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

export async function saveNewChannel(call: PageCall): Promise<PageAnswer> {
  const kind = findChannelKind(call.form.get('type') ?? '');
  if (!kind) return newChannel(call);
  const body = bodyOf(kind, call.form) as z.input<typeof createAlertChannel.body>;
  const { done, problems } = await attempt(() => call.api.call(createAlertChannel, { body }));
  if (problems) return newChannel(call, { values: call.form, problems });
  return { goTo: path`/alerts/channels/${done.id}`, toast: 'Channel created. Add its subscriptions below.' };
}

export async function editChannel(
  call: PageCall,
  done: {
    readonly values?: URLSearchParams;
    readonly problems?: Problems;
    readonly said?: string;
    readonly isWell?: boolean;
  } = {},
): Promise<View> {
  const { api, viewer } = call;
  const { id = '' } = call.params;
  const channel = await api.call(getAlertChannel, { params: { id } });
  const { values = valuesOf(findChannelKind(channel.type), channel), problems, said, isWell } = done;
  const name = shortened(channelName(channel), 120);
  const here = path`/alerts/channels/${channel.id}`;
  const main = html`<nav class="crumbs"><a href="/alerts/channels">Channels</a></nav>${heading(
    name,
    html`<div class="row-actions">${actionButton({ to: `${here}/test`, word: 'Send a test', viewer })}${confirmed(
      {
        to: `${here}/delete`,
        word: 'Delete…',
        confirmWord: 'Delete the channel',
        question: 'It sends no more notifications. Its subscriptions are deleted, too.',
        viewer,
      },
    )}</div>`,
  )}${problemNotice(problems)}${said === undefined ? '' : notice(said, isWell ? 'done' : 'refused')}
${channel.warnings.map((warning) => notice(warningWords(warning), 'refused'))}
${form(viewer, channel, { values, problems, isStored: true })}
${await subscriptionsSection(call, channel)}`;
  return { title: name, main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

function form(viewer: PageCall['viewer'], channel: AlertChannel, state: FormState): Html {
  const kind = findChannelKind(channel.type);
  if (!kind) return notice('This version of Picket does not support the type of this channel.', 'refused');
  return html`<form class="form channel-form" method="post" action="${path`/alerts/channels/${channel.id}`}">${csrfField(viewer)}
${fields(kind, state)}<div class="actions"><button class="button primary" type="submit">Save</button></div></form>`;
}

export async function saveChannel(call: PageCall): Promise<PageAnswer> {
  const { api, form: sent } = call;
  const { id = '' } = call.params;
  const channel = await api.call(getAlertChannel, { params: { id } });
  const kind = findChannelKind(channel.type);
  if (!kind) return editChannel(call);
  const { problems } = await attempt(() =>
    api.call(updateAlertChannel, { params: { id }, body: bodyOf(kind, sent, channel) }),
  );
  if (problems) return editChannel(call, { values: sent, problems });
  return { goTo: path`/alerts/channels/${id}`, toast: 'Saved.' };
}
