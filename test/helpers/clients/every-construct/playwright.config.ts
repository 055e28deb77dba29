export default { testMatch: 'shop.spec.ts', projects: [{ name: 'desktop' }] };
