/**
 * Playwright tests that put texts wherever a customer's test may put a secret: into outputs, messages of comparisons,
 * errors, titles, attachments, pages, requests and frames of web sockets. The file that `GIVEN` names contains the
 * texts, and files in Base64.
 */
export const leakyTests = (url: string) => `
import { test, expect } from '@playwright/test';
import { readFileSync, writeFileSync } from 'node:fs';

test.setTimeout(60_000);
const given = JSON.parse(readFileSync(process.env.GIVEN, 'utf8'));
const texts = given.texts;
/** Comparisons cut codes of colours; where Playwright then takes colours out of a message, a letter of one is left (docs/explanation/secrets.md). */
const uncoloured = texts.filter((text) => !text.includes('\\u001b'));
const files = given.files.map(({ name, base64 }) => ({ name, bytes: Buffer.from(base64, 'base64') }));
/** The text as a comparison shows it in colours next to it, with at most three of its characters in a row. */
const alike = (text) => text.replaceAll(/(...)./gsu, '$1#');
const all = texts.map((text, index) => '#' + index + ' ' + text).join(' ~ ');

test('prints', async () => {
  for (const [index, text] of texts.entries()) {
    console.log('log ' + index + ' ' + text + ' ~');
    console.error('error', index, { deep: [{ text }] });
    test.info().annotations.push({ type: 'note', description: 'note ' + text + ' ~' });
    await test.step('step ' + index + ' ' + text + ' ~', () => {});
  }
  // The blob reporter writes each piece as it comes.
  for (let at = 0; process.env.PIECES === 'yes' && at < all.length; at += 9) process.stdout.write(all.slice(at, at + 9));
  process.stdout.write('\\n');
});

test('compares', async () => {
  for (const text of uncoloured) {
    expect.soft({ value: 'before ' + text + ' after' }, 'message ' + text + ' ~').toEqual({ value: 'before ' + alike(text) + ' after' });
    expect.soft('before ' + text + ' after').not.toContain(text.slice(4, 10));
    expect.soft('before ' + text + ' after').not.toMatch(/ .{6}/);
    expect.soft('one\\n' + text + '\\ntwo').toBe('one\\n' + alike(text) + '\\ntwo');
    expect.soft([text, 'c']).toEqual([alike(text), 'c']);
  }
});

test('throws', async () => {
  throw new Error('it was ' + all, { cause: new Error('because of ' + all) });
});

test('attaches', async () => {
  const info = test.info();
  for (const [index, text] of texts.entries()) await info.attach('text ' + index, { body: 'as ' + text + ' ~', contentType: 'text/plain' });
  for (const { name, bytes } of files) {
    await info.attach('body ' + name, { body: bytes, contentType: 'application/octet-stream' });
    const path = info.outputPath(name);
    writeFileSync(path, bytes);
    await info.attach('path ' + name, { path, contentType: 'application/octet-stream' });
  }
});

test('shows', async ({ page }) => {
  await page.goto('${url}/blank');
  page.on('dialog', (dialog) => dialog.dismiss());
  await page.evaluate(async ([texts, socket]) => {
    for (const text of texts) {
      console.log('page ' + text + ' ~');
      console.error({ text });
      const item = document.createElement('li');
      item.textContent = text;
      item.title = text;
      document.body.append(item);
      document.cookie = 'c' + texts.indexOf(text) + '=' + encodeURIComponent(text);
      localStorage.setItem('k' + texts.indexOf(text), text);
    }
    document.title = texts[0];
    alert(texts.join(' ~ '));
    const frames = new WebSocket(socket);
    await new Promise((done) => { frames.onopen = done; });
    for (const text of texts) frames.send('frame ' + text + ' ~');
    await new Promise((done) => { frames.onmessage = ({ data }) => { if (data === 'last') done(); }; frames.send('last'); });
  }, [texts, '${url.replace('http', 'ws')}/socket']);
  for (const text of texts.slice(0, 10)) await page.evaluate((text) => { throw new Error('in page ' + text + ' ~'); }, text).catch((thrown) => expect.soft(thrown.message).toBe('none'));
  await page.setContent('<input id="a"><p id="p"></p>');
  for (const text of uncoloured) {
    await page.fill('#a', text);
    await page.locator('#p').evaluate((p, text) => { p.textContent = text; }, text);
    await expect.soft(page.locator('#p')).toHaveText('other ' + alike(text), { timeout: 1 });
  }
  await page.evaluate(() => { setTimeout(() => { throw new Error('uncaught ' + document.title); }); });
  await expect.soft(page.locator('body')).toMatchAriaSnapshot('- heading "' + 'x' + '"', { timeout: 1 });
  await expect(page.getByText(texts[0] + ' never')).toBeVisible({ timeout: 1 });
});

test('asks', async ({ page, request }) => {
  await page.goto('${url}/blank');
  for (const [index, text] of texts.entries()) {
    const headers = { 'x-sent': encodeURIComponent(text) };
    await request.post('${url}/say/' + index, { data: { text }, headers, params: { index } });
    await page.evaluate(async ([url, text]) => { await (await fetch(url, { method: 'POST', body: text })).text(); }, ['${url}/say/' + index, text]);
  }
  for (const { name } of files) await request.get('${url}/file/' + name);
  await expect(await request.get('${url}/say/0')).not.toBeOK();
});

for (const [index, text] of texts.entries()) {
  if (index % 5 === 0 && text.length < 90 && !/u001b|x1b|<span/i.test(JSON.stringify(text)) && !/@|…|\\.\\.\\./.test(text)) test('title ' + text + ' ' + index, async ({ page }) => { await page.goto('${url}/blank'); expect(1).toBe(2); });
}
`;
