/** A line of a program that matches the text of a message, a log line or a reason; not a field of one (`message.link`). */
export const matchedMessage =
  /\.(?:test|exec)\([\w.?!]*\b(?:message|msg|sentence|reason)\b(?!\.\w)|\b(?:message|msg|sentence|reason)\)?[!?]?\.(?:includes|startsWith|endsWith|match|search)\(/;
