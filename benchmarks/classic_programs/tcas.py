OLEV = 600
MAXALTDIFF = 600
MINSEP = 300
NOZCROSS = 100
THRESH = [400, 500, 640, 740]

class State:
    pass

def alim(s):
    return THRESH[s.alt_layer]

def inhibit_biased_climb(s):
    return s.up_sep + NOZCROSS if s.climb_inhibit else s.up_sep

def own_below_threat(s):
    return s.own_alt < s.other_alt

def own_above_threat(s):
    return s.other_alt < s.own_alt

def climb(s):
    upward_preferred = inhibit_biased_climb(s) > s.down_sep
    if upward_preferred:
        result = not own_below_threat(s) or (own_below_threat(s) and not s.down_sep >= alim(s))
    else:
        result = own_above_threat(s) and s.vertical_sep >= MINSEP and s.up_sep >= alim(s)
    return result

def descend(s):
    upward_preferred = inhibit_biased_climb(s) > s.down_sep
    if upward_preferred:
        result = own_below_threat(s) and s.vertical_sep >= MINSEP and s.down_sep >= alim(s)
    else:
        result = not own_above_threat(s) or (own_above_threat(s) and s.up_sep >= alim(s))
    return result

def alt_sep_test(vertical_sep, high_conf, two_of_three, own_alt, own_rate, other_alt, alt_layer, up_sep, down_sep, rac, other_cap, climb_inhibit):
    s = State()
    s.vertical_sep = vertical_sep
    s.own_alt = own_alt
    s.other_alt = other_alt
    s.alt_layer = alt_layer
    s.up_sep = up_sep
    s.down_sep = down_sep
    s.climb_inhibit = climb_inhibit
    enabled = high_conf and own_rate <= OLEV and vertical_sep > MAXALTDIFF
    equipped = other_cap == 1
    unknown = two_of_three and rac == 0
    alt_sep = 0
    if enabled and ((equipped and unknown) or not equipped):
        need_up = climb(s) and own_below_threat(s)
        need_down = descend(s) and own_above_threat(s)
        if need_up and need_down:
            alt_sep = 0
        elif need_up:
            alt_sep = 1
        elif need_down:
            alt_sep = 2
        else:
            alt_sep = 0
    return alt_sep
