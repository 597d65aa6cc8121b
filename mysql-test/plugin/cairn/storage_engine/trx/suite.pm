package My::Suite::Storage_engine_cairn;

# The suite storage_engine on Cairn; runs when its plugin is beside the server's.

@ISA = qw(My::Suite);

return "Need ha_cairn.so" unless $ENV{HA_CAIRN_SO};

sub is_default { 0 }

bless { };
