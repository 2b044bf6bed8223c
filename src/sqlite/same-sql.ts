/** Stands for the text of a statement in a call: it is the text of the statement before. */
export const SAME_SQL = 0;
