import type { Route } from '../targets/http-routes.ts';
import type { ScriptedCall } from './scripted-model.ts';

/** State of a site: unchanged since the steps were found, with names and places changed, or out of order. */
export type Layout = 'old' | 'new' | 'broken';

/** A user journey on a site: its pages, the steps for it, and the replacements for steps that a new layout changed. */
export interface Journey {
  readonly name: string;
  /** The part of the prompt after the address. */
  readonly prompt: string;
  readonly route: (layout: () => Layout) => Route;
  /** The steps after the page was opened, without the final one. */
  readonly found: readonly ScriptedCall[];
  /** The steps that heal the new layout, and the index of the step to resume at. */
  readonly healed: readonly ScriptedCall[];
  readonly resumeAt: number;
  /** The failure code of the broken site. */
  readonly brokenCode: 'STEP_FAILED' | 'ASSERTION_FAILED';
}

const button = (name: string) => ({ role: 'button', name });
const click = (name: string, more: object = {}): ScriptedCall => ({
  name: 'click',
  input: { target: button(name), ...more },
});
const fill = (label: string, value: string): ScriptedCall => ({
  name: 'fill',
  input: { target: { label }, value },
});
const see = (expected: string, more: object = {}): ScriptedCall => ({
  name: 'assert',
  input: {
    ...{
      condition: `It says ${expected}`,
      subject: 'text',
      target: { css: '#out' },
      comparison: 'CONTAINS',
      expected,
    },
    ...more,
  },
});

/** A page whose script does what its button says; `broken` does something else. */
function site(body: (layout: Layout) => string, options: { readonly brokenStatus?: number } = {}) {
  return (layout: () => Layout): Route =>
    (_request, reply) => {
      const now = layout();
      const status = now === 'broken' ? (options.brokenStatus ?? 200) : 200;
      reply.writeHead(status, { 'content-type': 'text/html' });
      reply.end(`<!doctype html><title>Journey</title>${body(now)}`);
    };
}

const out = '<p id="out"></p>';
const say = (text: string) => `document.getElementById('out').textContent=${text}`;
/** The name of a button by layout: a broken site keeps the name but does something else. */
const named = (layout: Layout, old: string, fresh: string) => (layout === 'new' ? fresh : old);

export const journeys: readonly Journey[] = [
  {
    name: 'a login with variables',
    prompt: 'sign in as {{USER}} with {{PASSWORD}} and see "Welcome"',
    route: site(
      (layout) =>
        `<label>Name <input id="u"></label><label>Password <input id="p" type="password"></label>
         <button onclick="${say(`p.value==='correct horse battery' && ${layout !== 'broken'} ? 'Welcome, '+u.value : 'Wrong password'`)}">${named(layout, 'Sign in', 'Log in')}</button>${out}`,
    ),
    found: [
      fill('Name', '{{USER}}'),
      fill('Password', '{{PASSWORD}}'),
      click('Sign in'),
      see('Welcome, {{USER}}'),
    ],
    healed: [click('Log in')],
    resumeAt: 5,
    brokenCode: 'ASSERTION_FAILED',
  },
  {
    name: 'a search',
    prompt: 'search for "green tea" and see "3 finds"',
    route: site(
      (layout) =>
        `<label>${named(layout, 'Search', 'Find')} <input id="q"></label>
         <button onclick="${say(`q.value==='green tea' ? '${layout === 'broken' ? '0' : '3'} finds' : 'nothing'`)}">Go</button>${out}`,
    ),
    found: [fill('Search', 'green tea'), click('Go'), see('3 finds')],
    healed: [fill('Find', 'green tea')],
    resumeAt: 3,
    brokenCode: 'ASSERTION_FAILED',
  },
  {
    name: 'a basket',
    prompt: 'put two teas into the basket and see that the total is less than 20',
    route: site(
      (layout) =>
        `<button onclick="n++;${say(`'Total: € '+(n*${layout === 'broken' ? '19.90' : '9.90'}).toFixed(2)`)}">${named(layout, 'Add to basket', 'Add')}</button>${out}<script>var n=0</script>`,
    ),
    found: [
      click('Add to basket'),
      click('Add to basket'),
      see('20', { comparison: 'LESS_THAN' }),
      see('10', { comparison: 'GREATER_THAN' }),
    ],
    healed: [click('Add'), click('Add')],
    resumeAt: 4,
    brokenCode: 'ASSERTION_FAILED',
  },
  {
    name: 'errors of a form',
    prompt: 'send the form without a mail address and see "Mail is missing"',
    route: site(
      (layout) =>
        `<label>Mail <input id="m"></label><button onclick="${say(layout === 'broken' ? `'Sent'` : `m.value===''?'Mail is missing':'Sent'`)}">${named(layout, 'Send', 'Submit')}</button>${out}`,
    ),
    found: [click('Send'), see('Mail is missing')],
    healed: [click('Submit')],
    resumeAt: 3,
    brokenCode: 'ASSERTION_FAILED',
  },
  {
    name: 'a figure of a table',
    prompt: 'see that Tea costs "4.50"',
    route: site(
      (layout) =>
        `<table><tr><td>Coffee</td><td>5.00</td></tr><tr><td>Tea</td>${layout === 'new' ? '<td>box</td>' : ''}<td ${layout === 'new' ? 'data-x' : 'class="price"'}>${layout === 'broken' ? '45.00' : '4.50'}</td></tr></table>`,
    ),
    found: [see('4.50', { target: { css: 'tr:has-text("Tea") td.price' }, comparison: 'EQUALS' })],
    healed: [see('4.50', { target: { css: 'tr:has-text("Tea") td[data-x]' }, comparison: 'EQUALS' })],
    resumeAt: 3,
    brokenCode: 'ASSERTION_FAILED',
  },
  {
    name: 'an upload',
    prompt: 'upload the file "tea.txt" and see its size',
    route: site(
      (layout) =>
        `<label>${named(layout, 'File', 'Document')} <input type="file" onchange="${say(layout === 'broken' ? `'Too large'` : `this.files[0].name+' '+this.files[0].size`)}"></label>${out}`,
    ),
    found: [
      { name: 'upload', input: { target: { label: 'File' }, fileName: 'tea.txt', content: 'green' } },
      see('tea.txt 5'),
    ],
    healed: [
      { name: 'upload', input: { target: { label: 'Document' }, fileName: 'tea.txt', content: 'green' } },
    ],
    resumeAt: 3,
    brokenCode: 'ASSERTION_FAILED',
  },
  {
    name: 'two tabs',
    prompt: 'open the terms, which are in another tab, and see "30 days"',
    route: (layout) => (request, reply) => {
      reply.writeHead(200, { 'content-type': 'text/html' });
      const now = layout();
      reply.end(
        request.query.get('terms') === null
          ? // The tab opens some time after the click, so that the next step has to wait for it.
            `<!doctype html><title>Shop</title><a href="#" onclick="setTimeout(() => window.open('?terms=1'), 400); return false">${named(now, 'Terms', 'Conditions')}</a>`
          : `<!doctype html><title>Terms</title><p id="out">Returns within ${now === 'broken' ? '3' : '30'} days</p>`,
      );
    },
    found: [
      { name: 'click', input: { target: { role: 'link', name: 'Terms' } } },
      { name: 'tab', input: { index: 1 } },
      see('within 30 days'),
    ],
    healed: [{ name: 'click', input: { target: { role: 'link', name: 'Conditions' } } }],
    resumeAt: 3,
    brokenCode: 'ASSERTION_FAILED',
  },
  {
    name: 'a frame',
    prompt: 'press the button in the frame and see "Paid"',
    route: site((layout) => {
      const inner = `<button onclick="out.textContent='${layout === 'broken' ? 'Declined' : 'Paid'}'">${named(layout, 'Pay', 'Pay now')}</button><p id=out></p>`;
      return `<iframe name="till" srcdoc="${inner.replaceAll('"', '&quot;')}"></iframe>`;
    }),
    found: [
      { name: 'click', input: { target: { ...button('Pay'), frame: 'till' } } },
      see('Paid', { target: { css: '#out', frame: 'till' }, comparison: 'EQUALS' }),
    ],
    healed: [{ name: 'click', input: { target: { ...button('Pay now'), frame: 'till' } } }],
    resumeAt: 3,
    brokenCode: 'ASSERTION_FAILED',
  },
  {
    name: 'a dialog',
    prompt: 'delete the draft, say yes, and see "Deleted"',
    route: site(
      (layout) =>
        `<button onclick="if(confirm('Really?'))${say(layout === 'broken' ? `'Failed'` : `'Deleted'`)}">${named(layout, 'Delete', 'Remove')}</button>${out}`,
    ),
    found: [
      click('Delete', { dialog: 'accept' }),
      {
        name: 'assert',
        input: { condition: 'It asks', subject: 'dialog', comparison: 'EQUALS', expected: 'Really?' },
      },
      see('Deleted'),
    ],
    healed: [click('Remove', { dialog: 'accept' })],
    resumeAt: 3,
    brokenCode: 'ASSERTION_FAILED',
  },
  {
    name: 'a slow page',
    prompt: 'start the job and see "Ready"',
    route: site(
      (layout) =>
        `<button onclick="setTimeout(() => { ${layout === 'broken' ? '' : say(`'Ready'`)} }, 1500)">${named(layout, 'Start', 'Run')}</button>${out}`,
    ),
    found: [click('Start'), see('Ready', { comparison: 'EQUALS' })],
    healed: [click('Run')],
    resumeAt: 3,
    brokenCode: 'ASSERTION_FAILED',
  },
  {
    name: 'a page that answers with 500',
    prompt: 'see "Open" on the button',
    route: site(
      (layout) =>
        layout === 'broken'
          ? '<h1>Out of order</h1>'
          : `<button>${named(layout, 'Open', 'Open the shop')}</button>`,
      { brokenStatus: 500 },
    ),
    found: [click('Open'), see('Open', { target: { role: 'button' } })],
    healed: [click('Open the shop')],
    resumeAt: 3,
    brokenCode: 'STEP_FAILED',
  },
  {
    name: 'a changed layout',
    prompt: 'open the menu, go to the account and see "Your account"',
    route: site((layout) => {
      const account = `<button onclick="${say(layout === 'broken' ? `'Gone'` : `'Your account'`)}">Account</button>`;
      return layout === 'new'
        ? `<details><summary>More</summary>${account}</details>${out}`
        : `<button onclick="menu.hidden=false">Menu</button><div id="menu" hidden>${account}</div>${out}`;
    }),
    found: [click('Menu'), click('Account'), see('Your account', { comparison: 'EQUALS' })],
    healed: [{ name: 'click', input: { target: { text: 'More' } } }],
    resumeAt: 3,
    brokenCode: 'ASSERTION_FAILED',
  },
];
