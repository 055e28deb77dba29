import { BrowserCheck } from 'checkly/constructs';
import { shop } from './shop-group.check.ts';

new BrowserCheck('home-in-browser', {
  name: 'Home page in a browser',
  group: shop,
  code: { entrypoint: './home.spec.ts' },
});
