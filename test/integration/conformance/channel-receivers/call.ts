export { call as receiver } from './phone.ts';
