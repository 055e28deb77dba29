interface Resource {
  readonly type: string;
  readonly logicalId: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

const ref = (name: string) => ({ ref: name });

/** Percentages of resources in a typical team's project. */
const shares = {
  'private-location': 1,
  'alert-channel': 4,
  'status-page-service': 4,
  'status-page': 1,
  'check-group': 8,
  check: 50,
  'maintenance-window': 1,
  dashboard: 1,
  'alert-channel-subscription': 30,
} as const;

/**
 * A project with resources of every kind, including checks of four types.
 *
 * @param count how many resources; a multiple of 100.
 * @param version another value changes a tenth of the resources.
 */
export function mixedProject(count: number, version: number) {
  const counts = new Map<string, number>(
    Object.entries(shares).map(([type, share]) => [type, Math.round((share * count) / 100)]),
  );
  const countOf = (type: keyof typeof shares) => counts.get(type) ?? 0;
  const resources: Resource[] = [];
  const add = (type: keyof typeof shares, make: (index: number) => Readonly<Record<string, unknown>>) => {
    for (let index = 0; index < countOf(type); index += 1) {
      resources.push({ type, logicalId: `${type}-${index}`, payload: make(index) });
    }
  };
  add('private-location', (index) => ({ name: `Office ${index}`, slugName: `office-${index}` }));
  add('alert-channel', (index) => ({
    type: 'WEBHOOK',
    config: { name: `Hook ${index}`, url: 'https://hooks.example.com/picket', method: 'POST' },
  }));
  add('status-page-service', (index) => ({ name: `Service ${index}` }));
  add('status-page', (index) => ({
    name: `Status ${index}`,
    url: `bench-status-${index}`,
    cards: [
      { name: 'All', services: [ref(`status-page-service-${index % countOf('status-page-service')}`)] },
    ],
  }));
  add('check-group', (index) => ({ name: `Group ${index}`, tags: ['bench'] }));
  add('check', (index) => ({
    name: `Check ${index}${index < count / 10 ? ` v${version}` : ''}`,
    groupId: ref(`check-group-${index % countOf('check-group')}`),
    activated: false,
    tags: ['bench', `t${index % 7}`],
    privateLocations: [`office-${index % countOf('private-location')}`],
    ...checkOf(index),
  }));
  add('maintenance-window', (index) => ({
    name: `Window ${index}`,
    tags: ['bench'],
    startsAt: '2031-01-01T00:00:00.000Z',
    endsAt: '2031-01-01T01:00:00.000Z',
  }));
  add('dashboard', (index) => ({
    header: `Board ${index}`,
    tags: ['bench'],
    customUrl: `bench-board-${index}`,
  }));
  add('alert-channel-subscription', (index) => ({
    alertChannelId: ref(`alert-channel-${index % countOf('alert-channel')}`),
    checkId: ref(`check-${index}`),
    activated: true,
  }));
  return { project: { logicalId: 'bench', name: 'Bench' }, resources };
}

function checkOf(index: number): Readonly<Record<string, unknown>> {
  const assertions = [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' }];
  const kinds = [
    { checkType: 'API', request: { url: 'https://shop.example.com/', method: 'GET', assertions } },
    { checkType: 'URL', request: { url: 'https://shop.example.com/' } },
    { checkType: 'TCP', request: { hostname: 'shop.example.com', port: 443 } },
    { checkType: 'BROWSER', script: `await page.goto('https://shop.example.com/');\n`.repeat(40) },
  ];
  return kinds[index % kinds.length] ?? {};
}
