import { isNight } from '../night.ts';

/** A browser problem, or something a page does to the browser. */
export interface BrowserTrouble {
  readonly name: string;
  /** The body of a test that has opened the target (T) in `page`; the test fails at its end. */
  readonly body: string;
  /** Expected text in the log or the failure. */
  readonly says: RegExp;
  /** Expensive, and similar to another of these cases. */
  readonly isAtNight?: true;
}

/** The script's own server; its response depends on the path. */
const serve = (answers: string) => `const origin = await new Promise((resolve) => {
  const server = require('node:http').createServer((request, response) => { const path = request.url; ${answers} });
  server.listen(0, '127.0.0.1', () => resolve('http://127.0.0.1:' + server.address().port));
});`;

/** Every way to open an address other than the check's own; the result of each is logged. */
const byEveryWay = (url: string) => `
  const seen = async (how, open) => {
    const where = await Promise.race([open(), new Promise((done) => setTimeout(done, 300, 'nothing'))]).catch(String);
    const pages = page.context().pages().flatMap((one) => one.frames()).map((frame) => frame.url());
    const isOpen = pages.some((address) => /^(file|chrome|view-source):/.test(address) && !address.startsWith('chrome-error:'));
    console.log(how, isOpen ? 'OPENED' : 'closed', String(where).slice(0, 80));
    for (const other of page.context().pages().slice(1)) await other.close();
    await page.goto(T);
  };
  const U = '${url}';
  await seen('goto', () => page.goto(U));
  await seen('frame', () => page.mainFrame().goto(U));
  await seen('location', () => page.evaluate((url) => { location.href = url; }, U));
  await seen('window', () => page.evaluate((url) => String(window.open(url)), U));
  await seen('child', () => page.evaluate((url) => new Promise((done) => {
    const frame = document.body.appendChild(document.createElement('iframe'));
    frame.src = url; frame.onload = () => done(frame.contentDocument?.body?.innerText);
  }), U));
  await seen('fetch', () => page.evaluate((url) => fetch(url).then((answer) => answer.text()), U));
  await seen('redirect', async () => {
    ${serve('response.writeHead(302, { location: path.slice(1) }).end();')}
    await page.goto(origin + '/' + U);
  });`;

const troubles: readonly BrowserTrouble[] = [
  {
    name: 'a renderer that crashes',
    body: `const session = await page.context().newCDPSession(page);
      const crash = page.waitForEvent('crash');
      session.send('Page.crash').catch(() => {});
      await crash;
      await page.click('text=nowhere');`,
    says: /Target crashed/,
  },
  {
    name: 'a process for graphics that crashes',
    body: `const session = await page.context().browser().newBrowserCDPSession();
      await session.send('Browser.crashGpuProcess').catch((error) => console.log(error.message));
      await page.goto(T);
      await page.screenshot();
      console.log('still there');`,
    says: /still there/,
    isAtNight: true,
  },
  {
    name: 'a page that crashes the browser',
    body: `const session = await page.context().browser().newBrowserCDPSession();
      session.send('Browser.crash').catch(() => {});
      await page.waitForEvent('close');
      await page.goto(T);`,
    says: /has been closed/,
  },
  {
    name: 'alerts without end',
    body: "test.setTimeout(4000); await page.evaluate(() => { for (;;) alert('x'); });",
    says: /Test timeout/,
    isAtNight: true,
  },
  {
    name: 'a page that does not want to be left',
    body: `await page.evaluate(() => addEventListener('beforeunload', (event) => { event.preventDefault(); event.returnValue = 'stay'; }));
      await page.click('body');
      await page.goto(T + '?next');
      console.log('left for', page.url());`,
    says: /left for .*next/,
    isAtNight: true,
  },
  { name: 'a file of the host', body: byEveryWay('file:///etc/passwd'), says: /redirect closed/ },
  { name: 'a page of the browser', body: byEveryWay('chrome://version'), says: /redirect closed/ },
  {
    name: 'a thousand tabs',
    body: 'test.setTimeout(3000); for (let i = 0; i < 1000; i++) await page.context().newPage();',
    says: /Test timeout|memory|processes/,
    isAtNight: true,
  },
  {
    name: 'a download of 60 MB',
    body: `${serve(`
        if (path === '/') return response.writeHead(200, { 'content-type': 'text/html' }).end('<a href="/big" download>big</a>');
        response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' });
        require('node:stream').Readable.from((function* () { for (let i = 0; i < 60; i++) yield Buffer.alloc(1e6); })()).pipe(response);`)}
      await page.goto(origin);
      const [download] = await Promise.all([page.waitForEvent('download'), page.click('a')]);
      console.log('bytes', require('node:fs').statSync(await download.path()).size);`,
    says: /bytes 60000000/,
    isAtNight: true,
  },
  {
    name: 'a service worker that never ends',
    body: `${serve(`
        if (path === '/') return response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>worker</h1>');
        response.writeHead(200, { 'content-type': 'text/javascript' }).end(
          "addEventListener('install', () => skipWaiting()); addEventListener('activate', () => clients.claim());" +
          "addEventListener('fetch', (event) => event.respondWith(new Promise(() => { for (;;) ; })));");`)}
      await page.goto(origin);
      await page.evaluate(async () => {
        await navigator.serviceWorker.register('/worker.js');
        await navigator.serviceWorker.ready;
        await new Promise((done) => { if (navigator.serviceWorker.controller) done(); else navigator.serviceWorker.oncontrollerchange = done; });
      });
      console.log('in control');
      await page.goto(origin + '/again', { timeout: 1000 });`,
    says: /in control[\s\S]*Timeout 1000ms/,
    isAtNight: true,
  },
  {
    name: 'a browser that is killed',
    body: "require('child_process').execSync('kill -9 -1');",
    says: /./,
  },
];

/** The cases for this run, by day or at night. */
export const browserTroubles = troubles.filter(({ isAtNight }) => isNight || !isAtNight);
