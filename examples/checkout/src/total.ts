type Line = { quantity: number; cents: number };

/** What a basket costs, in cents. */
export const total = (lines: Line[]): number => lines.reduce((sum, line) => sum + line.quantity * line.cents, 0);
