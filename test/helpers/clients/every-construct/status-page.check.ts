import { StatusPageV3, StatusPageV3AutomationRule, StatusPageV3Component } from 'checkly/constructs';

const statusPage = new StatusPageV3('shop-status', {
  name: 'Shop status',
  url: 'shop-status',
  description: 'How the shop is.',
  logo: 'https://shop.example.com/logo.svg',
  logoDark: 'https://shop.example.com/logo-dark.svg',
  favicon: 'https://shop.example.com/icon.svg',
  redirectTo: 'https://shop.example.com/',
  defaultTheme: 'DARK',
  supportLink: 'https://shop.example.com/help',
  privacyPolicyLink: 'https://shop.example.com/privacy',
  termsOfServiceLink: 'https://shop.example.com/terms',
  footerText: 'Open day and night.',
  googleAnalyticsTag: 'G-ABC1234567',
  allowIndexing: false,
  themeColors: { light: { linkFontColor: '#0a0' } },
});

const shop = new StatusPageV3Component('shop', {
  statusPage,
  name: 'Shop',
  type: 'GROUP',
  displayOrder: 1,
  expandedByDefault: true,
});
const cart = new StatusPageV3Component('cart', {
  statusPage,
  name: 'Cart',
  description: 'Where things wait.',
  parent: shop,
  displayOrder: 2,
  showHistoricalData: false,
});
new StatusPageV3Component('staff', { statusPage, name: 'Staff', displayOrder: 3, hidden: true });

new StatusPageV3AutomationRule('shop-trouble', {
  statusPage,
  name: 'The shop has problems',
  firstUpdate: 'We are looking into it.',
  lastUpdate: 'It works again.',
  tags: ['shop'],
  coolDownMinutes: 0,
  notifySubscribers: false,
  components: [
    { component: shop, targetImpact: 'DEGRADED_PERFORMANCE' },
    { component: cart, targetImpact: 'MAJOR_OUTAGE' },
  ],
});
