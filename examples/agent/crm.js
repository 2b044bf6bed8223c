// The tools of the agent: a small shop. Schemas are checked in this process, and become the declarations for the model.
import { z } from 'zod';

const SHOP = {
  customers: [
    { id: 'c1', name: 'Ann Archer' },
    { id: 'c2', name: 'Bob Brook' },
  ],
  orders: [
    { id: 'o1', customerId: 'c1', item: 'Desk lamp', cents: 3900 },
    { id: 'o2', customerId: 'c1', item: 'Bookshelf', cents: 12900 },
    { id: 'o3', customerId: 'c2', item: 'Steel kettle', cents: 4500 },
  ],
};

const Customer = z.object({ id: z.string(), name: z.string() });
const Order = z.object({ id: z.string(), customerId: z.string(), item: z.string(), cents: z.int() });
const Refund = z.object({ orderId: z.string(), cents: z.int(), reason: z.string() });

/** @param {import('edgehost').StoreBucket} refunds has an object for each refunded order */
export function crmTools(refunds) {
  return {
    findCustomers: {
      description: 'Finds customers by a part of their name; all of them by an empty text',
      input: z.object({ name: z.string().max(100) }),
      output: z.array(Customer),
      run: ({ name }) => SHOP.customers.filter(customer => customer.name.toLowerCase().includes(name.toLowerCase())),
    },
    orders: {
      description: 'The orders of a customer',
      input: z.object({ customerId: z.string() }),
      output: z.array(Order),
      run: ({ customerId }) => SHOP.orders.filter(order => order.customerId === customerId),
    },
    refund: {
      description: 'Gives money back for an order. A person must approve it',
      // Strict: a person approves the input as the code has written it.
      input: z.strictObject({ orderId: z.string(), cents: z.int().positive(), reason: z.string().min(1).max(200) }),
      output: Refund,
      async run({ orderId, cents, reason }, { callId }) {
        const order = SHOP.orders.find(({ id }) => id === orderId);
        if (order === undefined) throw new Error(`There is no order ${orderId}`);
        if (cents > order.cents) throw new Error(`Order ${orderId} was ${order.cents} cents, less than ${cents}`);
        const refund = { orderId, cents, reason };
        const isNew = await refunds.put(orderId, JSON.stringify(refund), {
          onlyIf: { etagDoesNotMatch: '*' },
          customMetadata: { callId },
        });
        // An approved call may come twice if this program ends meanwhile. It has the same id then.
        if (isNew === null && (await refunds.head(orderId)).customMetadata.callId !== callId)
          throw new Error(`Order ${orderId} is refunded already`);
        return refund;
      },
    },
  };
}
