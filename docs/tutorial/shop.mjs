// The shop of first-check.md: a page that can be closed and opened, and a receiver of alerts. `node docs/tutorial/shop.mjs`
import { createServer } from 'node:http';

const port = Number(process.env.SHOP_PORT ?? 9000);
let isOpen = true;

createServer(async (request, response) => {
  if (request.url === '/alerts') {
    const alert = Buffer.concat(await request.toArray()).toString();
    console.log(`alert: ${alert}`);
    response.end();
    return;
  }
  if (request.method === 'POST') isOpen = request.url === '/open';
  response.statusCode = isOpen ? 200 : 503;
  response.end(isOpen ? 'Welcome to the shop\n' : 'The shop is closed\n');
}).listen(port, '127.0.0.1', () => console.log(`The shop is at http://127.0.0.1:${port}/`));
