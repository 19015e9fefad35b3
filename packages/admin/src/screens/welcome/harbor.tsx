/** The picture beside the sign-in: four slots in use, one borrowed, three free. */
const BERTHS = [0, 1, 2, 3];
const POSTS = [1, 2, 3, 4, 5, 6, 7];
const WIDTH = 82;

export function Harbor() {
  return (
    <svg viewBox="0 0 660 620" aria-hidden="true">
      <Label x={166} number="4" word="in use" />
      <Label x={371} number="1" word="borrowed" />
      <Label x={534} number="3" word="free" />
      <path d="M12 152h308M340 152h62M422 152h226" stroke="var(--line-strong)" />
      <rect y="160" width="660" height="9" fill="var(--line-strong)" />
      {POSTS.map((post) => (
        <rect key={post} x={post * WIDTH + 1} y="164" width="6" height="196" rx="3" fill="var(--surface)" />
      ))}
      {BERTHS.map((berth) => (
        <Boat key={berth} x={18 + berth * WIDTH} />
      ))}
      <path
        d="M346 182h46c3 0 5 2 5 5v78c0 34-12 54-26 71-14-17-26-37-26-71v-78c0-3 0-5 1-5z"
        fill="none"
        stroke="var(--bar)"
        stroke-width="2"
        stroke-dasharray="5 4"
      />
      <path
        d="M371 352c0 60 22 84 52 94s52 20 66 42"
        fill="none"
        stroke="var(--bar)"
        stroke-width="2"
        stroke-dasharray="4 5"
      />
      <Traveller />
      {WAVES.map(([x, y]) => (
        <path
          key={`${x} ${y}`}
          d={`M${x} ${y}q5-6 10-2t10 2`}
          fill="none"
          stroke="var(--mid)"
          stroke-width="1.5"
        />
      ))}
    </svg>
  );
}

const WAVES = [
  [14, 415],
  [60, 480],
  [220, 450],
  [350, 405],
  [300, 565],
  [24, 548],
  [110, 585],
  [560, 455],
  [196, 530],
  [420, 600],
] as const;

function Label({ x, number, word }: { readonly x: number; readonly number: string; readonly word: string }) {
  return (
    <g text-anchor="middle">
      <text x={x} y="116" font-size="28" font-weight="600" fill="var(--text)">
        {number}
      </text>
      <text x={x} y="140" font-size="14" fill="var(--text-2)">
        {word}
      </text>
    </g>
  );
}

const HULL = 'h44c3 0 6 3 6 6v76c0 34-14 56-28 72-14-16-28-38-28-72v-76c0-3 3-6 6-6z';

function Boat({ x }: { readonly x: number }) {
  return (
    <g>
      <path d={`M${x + 3} 182${HULL}`} fill="var(--bar)" />
      <path
        d={`M${x + 9} 190h32v74c0 26-8 42-16 54-8-12-16-28-16-54z`}
        fill="var(--surface)"
        opacity="0.14"
      />
      <rect x={x + 12} y="200" width="26" height="40" rx="3" fill="var(--soft)" />
    </g>
  );
}

function Traveller() {
  return (
    <g transform="translate(488 486) rotate(-42)">
      <path
        d="M0 0h44c3 0 6 3 6 6v76c0 34-14 56-28 72C8 138-6 116-6 82V6c0-3 3-6 6-6z"
        fill="var(--surface)"
      />
      <path
        d="M-6 20h56v7H-6zM-6 38h56v7H-6zM-6 56h56v7H-6zM-6 74h56v7H-6zM-5 92h54l-1 7H-4zM-2 110h48l-2 7H0z"
        fill="var(--bar)"
      />
      <path
        d="M0 0h44c3 0 6 3 6 6v76c0 34-14 56-28 72C8 138-6 116-6 82V6c0-3 3-6 6-6z"
        fill="none"
        stroke="var(--bar)"
        stroke-width="2"
      />
      <rect
        x="9"
        y="14"
        width="26"
        height="38"
        rx="3"
        fill="var(--surface)"
        stroke="var(--bar)"
        stroke-width="2"
      />
    </g>
  );
}
