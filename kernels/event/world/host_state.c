#include "world/host_state.h"

#include "world/world.h"

int sim_n_host_states(const sim *s, int host)
{
    const power_states *states = power_of_host(platform_power(s->machine), host);
    return states ? states->n : 1;
}

int sim_host_state(const sim *s, int host)
{
    return s->hosts.at[host].state;
}

int host_set_state(sim *s, int host, int state)
{
    const power_states *states = power_of_host(platform_power(s->machine), host);
    if (!states || state == s->hosts.at[host].state) return 0;
    return clock_events_change_state(s, host, state, states->state[state].speed_flop_per_s);
}
