/** Classes of services of the hosted platform that do not exist here: programs import and extend them, and their use is an error. */
import { ErrorCtor } from '../primordials.ts';
import { defineInterface } from '../web/base/idl.ts';
import { notSupported } from '../web/base/not-supported.ts';

/** The class of workflows: it can be extended, so that a program loads that has workflows beside its handlers. */
export class WorkflowEntrypoint {
  constructor() {
    throw notSupported(
      'Workflows are not supported. Use a queue, whose messages are retried, or the alarms of a stateful object',
    );
  }
}

export class EmailMessage {
  constructor() {
    throw notSupported('E-mail is not supported: EmailMessage cannot be made. Call the HTTP API of a mail service');
  }
}

/** The error by which a step of a workflow says that it is not to be repeated. */
export class NonRetryableError extends ErrorCtor {
  constructor(message?: string, name = 'NonRetryableError') {
    super(message);
    this.name = name;
  }
}

defineInterface(WorkflowEntrypoint);
defineInterface(EmailMessage);
