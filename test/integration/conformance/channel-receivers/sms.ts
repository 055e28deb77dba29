export { sms as receiver } from './phone.ts';
