import { Dashboard, MaintenanceWindow, StatusPage } from 'checkly/constructs';
import { service } from './common.ts';

new Dashboard('dashboard', {
  tags: ['shop'],
  customUrl: 'shop-screens',
  customDomain: 'screens.shop.example.com',
  logo: 'https://shop.example.com/logo.svg',
  favicon: 'https://shop.example.com/icon.svg',
  link: 'https://shop.example.com/',
  header: 'Shop',
  description: 'How the shop is.',
  width: '960PX',
  refreshRate: 300,
  paginate: false,
  paginationRate: 30,
  checksPerPage: 20,
  useTagsAndOperator: true,
  hideTags: true,
  enableIncidents: true,
  expandChecks: true,
  showHeader: false,
  customCSS: { content: '.check { color: red }' },
  isPrivate: true,
  showP95: false,
  showP99: false,
});
new MaintenanceWindow('window', {
  name: 'Sunday',
  tags: ['shop'],
  startsAt: new Date('2027-01-03T02:00:00Z'),
  endsAt: new Date('2027-01-03T04:00:00Z'),
  repeatInterval: 2,
  repeatUnit: 'WEEK',
  repeatEndsAt: new Date('2028-01-03T04:00:00Z'),
});
new StatusPage('page', {
  name: 'Shop status',
  url: 'shop-status-old',
  customDomain: 'status.shop.example.com',
  logo: 'https://shop.example.com/logo.svg',
  redirectTo: 'https://shop.example.com/',
  favicon: 'https://shop.example.com/icon.svg',
  defaultTheme: 'DARK',
  cards: [{ name: 'Shop', services: [service] }],
});
