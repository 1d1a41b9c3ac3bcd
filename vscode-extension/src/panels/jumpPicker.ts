/** The list of locations to look at next, with probabilities and reasons. */

import * as vscode from 'vscode';

import type { Server } from '../client';
import { t } from '../l10n';
import type { Cursor } from '../locations';
import { type Jump, type MoveMessage, serverCommands } from '../protocol';
import { jumpTitle, moveText } from '../messages';

const MAX_MOVES = 20;

/** Offer where to go from the cursor, and go there. Resolves to whether there was anything to offer. */
export async function jump(server: Server, cursor: Cursor | undefined): Promise<boolean> {
  const offer = (await server.command(serverCommands.jump, cursor ?? null, {
    ask: false,
    limit: MAX_MOVES,
  })) as Jump | null;
  if (!offer?.moves.length) {
    return false;
  }
  const move = await choose(offer);
  if (move) {
    const to = { uri: move.uri, line: move.range.start.line };
    await server.command(serverCommands.jump, cursor ?? null, { ask: false, limit: 1, to });
  }
  return true;
}

async function choose(offer: Jump): Promise<MoveMessage | undefined> {
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { move: MoveMessage }>();
  pick.title = jumpTitle(offer);
  pick.placeholder = t('Most likely first');
  pick.matchOnDescription = true;
  pick.matchOnDetail = true;
  pick.items = offer.moves.map((move) => ({ ...moveText(move), move }));
  return new Promise((done) => {
    const listeners = vscode.Disposable.from(
      pick.onDidAccept(() => {
        done(pick.selectedItems[0]?.move);
        pick.hide();
      }),
      pick.onDidHide(() => {
        listeners.dispose();
        pick.dispose();
        done(undefined);
      }),
    );
    pick.show();
  });
}
