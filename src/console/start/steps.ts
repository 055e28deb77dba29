import { findCheckType } from '@picket/checks/index.ts';
import { checkStatusRoutes } from '@picket/protocol/checks/check-status.ts';
import { channelName } from '../alerts/channel-words.ts';
import { csrfField, selectField, textField } from '../elements/form.ts';
import { duration, shortened } from '../elements/format.ts';
import { icon } from '../elements/icon.ts';
import { type State, stateBadge } from '../elements/state.ts';
import { actionButton, problemNotice } from '../forms/action.ts';
import type { Problems } from '../forms/problems.ts';
import { type Content, html, path, withQuery } from '../html.ts';
import { heading } from '../layout.ts';
import { agentDot } from '../locations/agent-dot.ts';
import { commandTabs } from '../locations/command-tabs.ts';
import type { PageCall, View } from '../page.ts';
import { choicesMade, type StartChoice } from './choices.ts';
import { startPath } from './examples.ts';
import { type OwnCheck, type Progress, progressOf } from './progress.ts';

/** A form of these steps that was refused, or the key of a location that was just created. */
export interface Done {
  readonly step?: StepName;
  readonly problems?: Problems;
  readonly newKey?: string;
}

type StepName = Extract<StartChoice, 'location' | 'check' | 'channel' | 'page'>;

interface Step {
  readonly name: StepName;
  readonly title: string;
  /** In one sentence, while the step is still to come. */
  readonly purpose: string;
  readonly isDone: boolean;
  readonly body: () => Content | Promise<Content>;
}

/** Shows the four steps with their state; the first open one is open. */
export async function showStart(call: PageCall, done: Done = {}): Promise<View> {
  const progress = await progressOf(call);
  const made = choicesMade(call.request);
  const steps = stepsOf(call, progress, done);
  const isOpen = ({ name, isDone }: Step) => !isDone && !made.has(name);
  const wanted = steps.find(({ name }) => name === (done.step ?? call.query.get('step')));
  const now = wanted && (!wanted.isDone || done.newKey) ? wanted : steps.find(isOpen);
  continueWithAgent(call, progress);
  const left = steps.filter(isOpen).length;
  const shown = await Promise.all(
    steps.map(async (step, index) => {
      const isNow = step === now;
      const state = step.isDone ? 'done' : isNow ? 'now' : made.has(step.name) ? 'skipped' : 'later';
      return html`<li class="start-step start-${state}" id="${step.name}"${isNow ? html` aria-current="step"` : ''}>
<h2><span class="start-sign" aria-hidden="true">${step.isDone ? icon('check') : index + 1}</span>${step.title}<span class="hidden">: ${state === 'now' ? 'this step' : state}</span></h2>
<div class="start-body">${
        isNow || step.isDone
          ? await step.body()
          : html`<p class="soft">${step.purpose}${state === 'skipped' ? html` <a href="${withQuery(startPath, { step: step.name })}">Do it now</a>` : ''}</p>`
      }${
        isNow && !step.isDone
          ? actionButton({
              to: `${startPath}/choose`,
              word: 'Skip this step',
              viewer: call.viewer,
              fields: html`<input type="hidden" name="choice" value="${step.name}">`,
            })
          : ''
      }</div></li>`;
    }),
  );
  const main = html`${heading(
    'Get started',
    actionButton({
      to: `${startPath}/choose`,
      word: left === 0 ? 'Close these steps' : 'Dismiss these steps',
      viewer: call.viewer,
      fields: html`<input type="hidden" name="choice" value="dismissed">`,
    }),
  )}
<p class="lead soft">${left === 0 ? html`All steps are done. <a href="/">Go to the overview</a>` : 'From nothing to a check that alerts you, and a page for your customers.'}</p>
<ol class="start-steps">${shown}</ol>`;
  const { problems } = done;
  return { main, ...(problems ? { statusCode: problems.statusCode } : {}) };
}

/** The waiting dot asked, and the agent is here: the whole page goes on to the next step. */
function continueWithAgent({ request, reply }: PageCall, { hasAgent }: Progress): void {
  if (!hasAgent || request.headers['hx-target'] === undefined) return;
  if (!String(request.headers['hx-target']).includes('agent-dot')) return;
  reply.headers({ 'hx-retarget': '#main', 'hx-reselect': '#main', 'hx-reswap': 'outerHTML' });
}

function stepsOf(call: PageCall, progress: Progress, done: Done): Step[] {
  const { location, hasAgent, check, channel, page } = progress;
  const problems = (name: StepName) => (done.step === name ? done.problems : undefined);
  return [
    {
      name: 'location',
      title: 'Connect an agent',
      purpose: 'An agent in your network runs your checks.',
      isDone: hasAgent && done.newKey === undefined,
      body: () => locationStep(call, progress, done),
    },
    {
      name: 'check',
      title: 'Check a URL',
      purpose: 'Is it up, how fast is it, and whose fault is it if not?',
      isDone: check !== undefined,
      body: () => (check ? checkDone(call, check) : checkForm(call, progress, problems('check'))),
    },
    {
      name: 'channel',
      title: 'Get an alert',
      purpose: 'By mail, in Slack, or through a webhook.',
      isDone: channel !== undefined,
      body: () =>
        channel
          ? html`<p>${shortened(channelName(channel), 80)} ${actionButton({
              to: `${startPath}/channel/test`,
              word: 'Send a test',
              viewer: call.viewer,
              fields: html`<input type="hidden" name="channel" value="${channel.id}">`,
            })} <a href="${path`/alerts/channels/${channel.id}`}">Change it</a></p>`
          : channelForm(call, progress, problems('channel')),
    },
    {
      name: 'page',
      title: 'Publish a status page',
      purpose: 'Your customers see whether it works, and since when.',
      isDone: page !== undefined,
      body: () =>
        page
          ? html`<p><a href="${path`/status/${page.url}`}">Open ${shortened(page.name, 60)}</a> · <a href="${path`/pages/status/${page.id}`}">Change it</a></p>`
          : pageForm(call, progress, location?.name ?? '', problems('page')),
    },
  ];
}

function locationStep(call: PageCall, { location, hasAgent }: Progress, done: Done): Content {
  const problems = done.step === 'location' ? done.problems : undefined;
  if (!location) {
    return html`<p>A location is a place with agents, such as an office or a cluster. You get its key and the command that starts an agent.</p>
${problemNotice(problems)}<form class="start-form" method="post" action="${startPath}/location">${csrfField(call.viewer)}
${textField({
  name: 'name',
  label: 'Name of the location',
  value: call.form.get('name') ?? 'My network',
  error: problems?.fields.get('name') ?? problems?.fields.get('slugName'),
  isRequired: true,
})}
<button class="button primary" type="submit">Create it and show the command</button></form>`;
  }
  const here = withQuery(startPath, { location: location.id });
  const name = html`<a href="${path`/locations/${location.id}`}">${shortened(location.name, 60)}</a>`;
  const dot = agentDot(location, here);
  if (done.newKey !== undefined) {
    return html`<p>Run one of these commands at <b>${shortened(location.name, 60)}</b>. They contain its key.</p>
${commandTabs(call, { key: done.newKey, slugName: location.slugName })}${dot}`;
  }
  if (hasAgent) return html`<div class="start-line">${name} ${dot}</div>`;
  return html`${problemNotice(problems)}<p>No agent is connected at ${name} yet.</p>${dot}
${actionButton({
  to: `${startPath}/key`,
  word: 'Show the command with a new key',
  viewer: call.viewer,
  isPrimary: true,
  fields: html`<input type="hidden" name="location" value="${location.id}">`,
})}`;
}

/** Locations with agents, the oldest first; all if none has one. */
export function usableLocations({ locations }: Progress): Progress['locations'] {
  const sorted = locations.toSorted((left, right) => left.created_at.localeCompare(right.created_at));
  const live = sorted.filter(({ health }) => health.presentAgents > 0);
  return live.length > 0 ? live : sorted;
}

function checkForm(call: PageCall, progress: Progress, problems: Problems | undefined): Content {
  const places = usableLocations(progress);
  if (places.length === 0) return html`<p>Create a location first: it runs the check.</p>`;
  return html`${problemNotice(problems)}<form class="start-form" method="post" action="${startPath}/check">${csrfField(call.viewer)}
${textField({
  name: 'url',
  label: 'URL to check',
  value: call.form.get('url') ?? '',
  hint: 'Without https:// it is added. The check runs every minute and expects a status below 400.',
  error: problems?.fields.get('request.url') ?? problems?.fields.get('url'),
  isRequired: true,
})}
${textField({
  name: 'name',
  label: 'Name (optional)',
  value: call.form.get('name') ?? '',
  error: problems?.fields.get('name'),
})}
${
  places.length === 1
    ? html`<input type="hidden" name="at" value="${places[0]?.slugName ?? ''}">`
    : selectField({
        name: 'at',
        label: 'Location',
        value: call.form.get('at') ?? places[0]?.slugName ?? '',
        choices: places.map(({ name, slugName }) => ({ value: slugName, word: shortened(name, 60) })),
      })
}
<button class="button primary" type="submit">Create the check and run it</button></form>
<p class="small"><a href="/checks/new">Another type of check</a>: API, browser, DNS, TCP, ping, heartbeat and more.</p>`;
}

async function checkDone(call: PageCall, check: OwnCheck): Promise<Content> {
  const { id, name, checkType } = check;
  const hasRuns = findCheckType(checkType)?.pings === undefined;
  const status = !hasRuns
    ? null
    : await call.api.call(checkStatusRoutes.getCheckStatus, { params: { checkId: id } });
  const link = html`<a href="${path`/checks/${id}`}">${shortened(name, 80)}</a>`;
  if (!hasRuns) return html`<p>${link}</p>`;
  if (!status || status.lastCheckRunId === null) {
    const here = withQuery(startPath, { check: id });
    return html`<p id="first-run" role="status" hx-get="${here}" hx-trigger="every 2s" hx-target="#first-run" hx-select="#first-run" hx-swap="outerHTML">${link} ${stateBadge('waiting', 'Running')} <a class="small" href="${here}">Reload</a></p>`;
  }
  const state: State = status.hasFailures
    ? 'failed'
    : status.hasErrors
      ? 'error'
      : status.isDegraded
        ? 'degraded'
        : 'passed';
  const took =
    status.longestRun === null
      ? ''
      : html` <span class="small soft">in ${duration(status.longestRun)}</span>`;
  return html`<p id="first-run" role="status">${link} ${stateBadge(state)}${took}</p>`;
}

function channelForm(call: PageCall, { check }: Progress, problems: Problems | undefined): Content {
  return html`${problemNotice(problems)}<form class="start-form" method="post" action="${startPath}/channel">${csrfField(call.viewer)}
<input type="hidden" name="check" value="${check?.id ?? ''}">
${textField({
  name: 'to',
  label: 'Mail address, Slack webhook or other webhook URL',
  value: call.form.get('to') ?? '',
  hint: html`Gets a message when ${check ? shortened(check.name, 60) : 'a check'} fails, and when it recovers. Slack: <a href="https://api.slack.com/messaging/webhooks" rel="noreferrer">create an incoming webhook</a> and paste its URL.`,
  error:
    problems?.fields.get('config.address') ??
    problems?.fields.get('config.url') ??
    problems?.fields.get('to'),
  isRequired: true,
})}
<button class="button primary" type="submit">Create it and send a test</button></form>
<p class="small"><a href="/alerts/channels/new">Another type of channel</a>: Teams, Telegram, PagerDuty, Opsgenie and more.</p>`;
}

function pageForm(
  call: PageCall,
  { check }: Progress,
  place: string,
  problems: Problems | undefined,
): Content {
  if (!check) return html`<p>Create a check first: the page shows its state.</p>`;
  return html`${problemNotice(problems)}<form class="start-form" method="post" action="${startPath}/page">${csrfField(call.viewer)}
<input type="hidden" name="check" value="${check.id}">
${textField({
  name: 'name',
  label: 'Title of the page',
  value: call.form.get('name') ?? 'Status',
  error: problems?.fields.get('name'),
  isRequired: true,
})}
${textField({
  name: 'url',
  label: 'Address, after /status/',
  value: call.form.get('url') ?? (slugOf(place) || 'status'),
  error: problems?.fields.get('url'),
  isRequired: true,
})}
<button class="button primary" type="submit">Publish the page</button></form>
<p class="small soft">It shows ${shortened(check.name, 60)}. A failure opens an incident there, and a recovery resolves it.</p>`;
}

/** A short name for addresses, made from a name for people; empty if it has no letter or digit. */
export function slugOf(name: string, length = 30): string {
  return name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, length)
    .replace(/-+$/, '');
}
