export const title = /Shop/;
