/** Suspects and failure groups as they are listed: messages, with what tells folders of the workspace apart. */

import type { GroupOverview, SuspectMessage } from './protocol';

export interface Suspect extends SuspectMessage {
  /** The name of its workspace folder, if there are several. */
  folder?: string;
}

export interface FailureGroup extends GroupOverview {
  /** The name of its workspace folder, if there are several. */
  folderName?: string;
}
