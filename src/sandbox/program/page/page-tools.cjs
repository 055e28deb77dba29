'use strict';
/** The tools for the page: each takes input that the agent has validated, and returns JSON. */
const path = require('node:path');

/** Timeouts of a tool for its target, and for a page load. */
const actionMs = 5000;
const loadMs = 30_000;
const settleMs = 2000;
const maxSnapshotLength = 20_000;
const maxTextLength = 8000;
const maxBodyLength = 100_000;
const maxNotices = 10;
const maxRedirects = 5;

/** No element of the page matches the step, or several do. */
class Misfit extends Error {}
/** The page or its server fails. */
class Broken extends Error {}
/** The check does not allow it. */
class Refused extends Error {}

class PageTools {
  /** @param parts.context of Playwright, parts.guard see guard-proxy.cjs, parts.directory for screenshots. */
  constructor({ context, guard, directory }) {
    this.context = context;
    this.guard = guard;
    this.directory = directory;
    this.status = null;
    this.dialog = null;
    this.dialogMessage = null;
    this.response = null;
    this.notices = [];
    context.on('page', (page) => this.watch(page));
  }

  watch(page) {
    page.setDefaultTimeout(actionMs);
    page.setDefaultNavigationTimeout(loadMs);
    page.on('dialog', (dialog) => {
      this.dialogMessage = dialog.message();
      const answered = this.dialog?.answer === 'accept' ? dialog.accept(this.dialog.text) : dialog.dismiss();
      answered.catch(() => undefined); // the page may be gone
    });
    page.on('response', (response) => {
      const request = response.request();
      if (page === this.page && request.isNavigationRequest() && response.frame() === page.mainFrame()) {
        this.status = response.status();
      }
    });
    const note = (text) => {
      if (this.notices.length < maxNotices) this.notices.push(text.slice(0, 500));
    };
    page.on('console', (message) => message.type() === 'error' && note(`console: ${message.text()}`));
    page.on('pageerror', (error) => note(`error on the page: ${error.message}`));
  }

  async begin() {
    this.page = await this.context.newPage();
  }

  async run(tool, input) {
    if (!Object.hasOwn(tools, tool)) throw new Error(`no such tool: ${tool}`);
    const result = await tools[tool].call(this, input);
    return { ...result, ...(await this.state()) };
  }

  /** The current state of the page. */
  async state() {
    const { page } = this;
    return {
      url: page.url(),
      title: await page.title().catch(() => ''),
      status: this.status,
      tabs: this.context.pages().length,
      dialog: this.dialogMessage,
      refused: this.guard.takeRefused(),
      notices: this.notices.splice(0),
    };
  }

  /** Finds the frame of a step: by name, or by index among all frames of the page. */
  frame(name) {
    if (name === undefined) return this.page.mainFrame();
    const frames = this.page.frames();
    const found =
      frames.find((frame) => frame.name() === name) ?? frames[/^\d+$/.test(name) ? Number(name) : -1];
    if (!found) throw new Misfit(`there is no frame ${JSON.stringify(name)}`);
    return found;
  }

  locator({ role, name, isExact = true, label, placeholder, text, css, nth, frame }) {
    const root = this.frame(frame);
    const options = { exact: isExact };
    let found;
    if (role !== undefined) found = root.getByRole(role, name === undefined ? {} : { name, ...options });
    else if (label !== undefined) found = root.getByLabel(label, options);
    else if (placeholder !== undefined) found = root.getByPlaceholder(placeholder, options);
    else if (text !== undefined) found = root.getByText(text, options);
    else found = root.locator(css);
    return nth === undefined ? found : found.nth(nth);
  }

  /** Finds the single element of a step. */
  async element(target) {
    const locator = this.locator(target);
    const shown = JSON.stringify(target);
    try {
      await locator.first().waitFor({ state: 'attached', timeout: actionMs });
    } catch (error) {
      if (error.name !== 'TimeoutError') throw new Misfit(`${shown}: ${firstLine(error)}`);
      throw new Misfit(`no element of the page matches ${shown}`);
    }
    const count = await locator.count();
    if (count > 1) throw new Misfit(`${count} elements of the page match ${shown}: choose one with nth`);
    return locator;
  }

  /** Acts on an element; if that fails, the step is a misfit. */
  async act(target, action) {
    const element = await this.element(target);
    const before = new Set(this.context.pages());
    try {
      await action(element);
    } catch (error) {
      throw new Misfit(firstLine(error));
    }
    await this.settle();
    const opened = this.context.pages().filter((page) => !before.has(page));
    return opened.length > 0 ? { note: `${opened.length} new tab opened` } : {};
  }

  /** Waits for a navigation that an action started. */
  async settle() {
    const { page } = this;
    await page.waitForTimeout(50);
    await page.waitForLoadState('load', { timeout: loadMs }).catch(() => undefined);
    await page.waitForLoadState('networkidle', { timeout: settleMs }).catch(() => undefined);
  }

  /** Finds a tab by index; a tab that an action opens may appear after the action has ended. */
  async tabAt(index) {
    const { context } = this;
    while (context.pages().length <= index) {
      await context.waitForEvent('page', { timeout: actionMs }).catch((error) => {
        if (error.name !== 'TimeoutError') throw error;
        throw new Misfit(`there is no tab ${index}`);
      });
    }
    return context.pages()[index];
  }

  allow(url) {
    if (this.guard.allows(url)) return;
    const origin = URL.canParse(url) ? new URL(url).origin : url;
    throw new Refused(`${origin} is not an allowed origin of the check`);
  }
}

const tools = {
  async open({ url }) {
    this.allow(url);
    let response;
    try {
      response = await this.page.goto(url, { waitUntil: 'load' });
    } catch (error) {
      throw new Broken(firstLine(error));
    }
    await this.settle();
    this.status = response?.status() ?? this.status;
    return {};
  },
  click({ target, dialog, dialogText }) {
    this.dialog = { answer: dialog, text: dialogText };
    return this.act(target, (element) => element.click({ timeout: actionMs }));
  },
  fill({ target, value }) {
    return this.act(target, (element) => element.fill(value, { timeout: actionMs }));
  },
  select({ target, option }) {
    return this.act(target, (element) => element.selectOption(option, { timeout: actionMs }));
  },
  check({ target, isChecked }) {
    return this.act(target, (element) => element.setChecked(isChecked, { timeout: actionMs }));
  },
  press({ target, key }) {
    return this.act(target, (element) => element.press(key, { timeout: actionMs }));
  },
  upload({ target, fileName, content }) {
    const file = { name: fileName, mimeType: 'application/octet-stream', buffer: Buffer.from(content) };
    return this.act(target, (element) => element.setInputFiles(file, { timeout: actionMs }));
  },
  async tab({ index }) {
    this.page = await this.tabAt(index);
    await this.page.bringToFront();
    await this.settle();
    return {};
  },
  async request({ method, url, headers, body }) {
    let next = url;
    for (let hops = 0; ; hops += 1) {
      this.allow(next);
      let answer;
      try {
        answer = await this.context.request.fetch(next, {
          method: hops === 0 ? method : 'GET',
          headers: hops === 0 ? headers : {},
          ...(hops === 0 && body !== undefined ? { data: body } : {}),
          maxRedirects: 0,
          failOnStatusCode: false,
          timeout: loadMs,
        });
      } catch (error) {
        throw new Broken(firstLine(error));
      }
      const { location } = answer.headers();
      if (answer.status() >= 300 && answer.status() < 400 && location && hops < maxRedirects) {
        next = new URL(location, next).href;
        continue;
      }
      const text = (await answer.text()).slice(0, maxBodyLength);
      this.response = { status: answer.status(), headers: answer.headers(), body: text };
      return { response: { ...this.response, body: text.slice(0, maxTextLength) } };
    }
  },
  async read({ target }) {
    const element = await this.element(target);
    return { text: (await textOf(element)).slice(0, maxTextLength) };
  },
  async snapshot() {
    const { page } = this;
    await this.settle();
    const parts = [];
    for (const [index, frame] of page.frames().entries()) {
      const tree = await frame
        .locator('body')
        .ariaSnapshot({ timeout: actionMs })
        .catch(() => '');
      if (tree === '') continue;
      parts.push(index === 0 ? tree : `[frame ${frame.name() || index}]\n${tree}`);
    }
    const tabs = this.context.pages();
    const shown = tabs.length > 1 ? `[tab ${tabs.indexOf(page)} of ${tabs.length}]\n` : '';
    return { text: (shown + parts.join('\n')).slice(0, maxSnapshotLength) };
  },
  /** Reads the current value for an assertion; null if absent. */
  async observe({ subject, target }) {
    const { page, response } = this;
    if (subject === 'url') return { actual: page.url() };
    if (subject === 'title') return { actual: await page.title() };
    if (subject === 'status') return { actual: this.status === null ? null : String(this.status) };
    if (subject === 'dialog') return { actual: this.dialogMessage };
    if (subject === 'response_status') return { actual: response ? String(response.status) : null };
    if (subject === 'response_body') return { actual: response?.body ?? null };
    const locator = this.locator(target);
    const count = await locator.count();
    if (subject === 'count') return { actual: String(count) };
    if (subject === 'visible') {
      const visible = count > 0 && (await locator.first().isVisible());
      return { actual: String(visible) };
    }
    if (count === 0) return { actual: null };
    if (count > 1)
      throw new Misfit(`${count} elements of the page match ${JSON.stringify(target)}: choose one with nth`);
    const actual =
      subject === 'value' ? await locator.inputValue({ timeout: actionMs }) : await textOf(locator);
    return { actual: actual.slice(0, maxBodyLength) };
  },
  async screenshot({ file }) {
    await this.page.screenshot({ path: path.join(this.directory, file), timeout: actionMs });
    return {};
  },
};

async function textOf(element) {
  const text = await element.innerText({ timeout: actionMs }).catch(() => element.textContent());
  return (text ?? '').replace(/\s+/g, ' ').trim();
}

function firstLine(error) {
  return String(error.message).split('\n', 1)[0].slice(0, 500);
}

function kindOf(error) {
  if (error instanceof Misfit) return 'misfit';
  if (error instanceof Refused) return 'refused';
  return error instanceof Broken ? 'broken' : 'misfit';
}

module.exports = { PageTools, kindOf, firstLine };
