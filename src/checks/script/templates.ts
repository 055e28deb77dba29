import type { Template } from '../contract/definition/form-layout.ts';

const visit = `import { expect, test } from '@playwright/test';

test('Home page', async ({ page }) => {
  const response = await page.goto('https://example.com/');
  expect(response?.status()).toBeLessThan(400);
  await expect(page).toHaveTitle(/Example/);
  await page.screenshot({ path: 'home.png' });
});
`;

const logIn = `import { expect, test } from '@playwright/test';

// Set LOGIN_EMAIL and LOGIN_PASSWORD as variables of the check or the account.
test('Log in', async ({ page }) => {
  await page.goto('https://example.com/login');
  await page.getByLabel('E-mail').fill(process.env.LOGIN_EMAIL ?? '');
  await page.getByLabel('Password').fill(process.env.LOGIN_PASSWORD ?? '');
  await page.getByRole('button', { name: 'Log in' }).click();
  await expect(page.getByRole('heading', { name: 'Welcome' })).toBeVisible();
});
`;

const order = `import { expect, test } from '@playwright/test';

test('Order', async ({ page }) => {
  await test.step('Find a product', async () => {
    await page.goto('https://example.com/');
    await page.getByRole('searchbox').fill('lamp');
    await page.getByRole('searchbox').press('Enter');
    await page.getByRole('link', { name: 'lamp' }).first().click();
  });
  await test.step('Put it into the cart', async () => {
    await page.getByRole('button', { name: 'Add to cart' }).click();
    await expect(page.getByText('1 item')).toBeVisible();
  });
});
`;

/** Templates of browser checks. */
export const browserTemplates: readonly Template[] = [
  { title: 'Visit a page and check its title', fields: { script: visit } },
  { title: 'Log in', fields: { script: logIn } },
  { title: 'Several steps: find a product and put it into the cart', fields: { script: order } },
];

const request = `import { expect, test } from '@playwright/test';

test('Products', async ({ request }) => {
  const response = await request.get('https://example.com/api/products');
  expect(response.status()).toBe(200);
  const products = await response.json();
  expect(products.length).toBeGreaterThan(0);
});
`;

const lifecycle = `import { expect, test } from '@playwright/test';

const url = 'https://example.com/api/orders';

// Set API_TOKEN as a variable of the check or the account.
const headers = { authorization: \`Bearer \${process.env.API_TOKEN}\` };

test('Orders', async ({ request }) => {
  const created = await request.post(url, { headers, data: { product: 'lamp', count: 1 } });
  expect(created.status()).toBe(201);
  const { id } = await created.json();

  const read = await request.get(\`\${url}/\${id}\`, { headers });
  expect(await read.json()).toMatchObject({ product: 'lamp', count: 1 });

  const removed = await request.delete(\`\${url}/\${id}\`, { headers });
  expect(removed.ok()).toBe(true);
});
`;

const login = `import { expect, test } from '@playwright/test';

const url = 'https://example.com/api';

// Set LOGIN_EMAIL and LOGIN_PASSWORD as variables of the check or the account.
test('Profile', async ({ request }) => {
  const data = { email: process.env.LOGIN_EMAIL, password: process.env.LOGIN_PASSWORD };
  const login = await request.post(\`\${url}/login\`, { data });
  expect(login.status()).toBe(200);
  const { token } = await login.json();

  const profile = await request.get(\`\${url}/profile\`, { headers: { authorization: \`Bearer \${token}\` } });
  expect((await profile.json()).email).toBe(data.email);
});
`;

/** Templates of multi-step checks. */
export const multiStepTemplates: readonly Template[] = [
  { title: 'Send a request and check the response', fields: { script: request } },
  { title: 'Create, read and delete', fields: { script: lifecycle } },
  { title: 'Log in, and use the token', fields: { script: login } },
];
